// Acquire and release over etcd, and the hand-over among eight processes, beside the calls that
// they take at least, sent by hand; and the hand-over beside that of the server's own lock service.
// All through the JSON gateway.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <algorithm>
#include <array>
#include <iterator>
#include <stdexcept>
#include <support/etcd_server.hpp>

#include "contenders.hpp"
#include "etcd_by_hand.hpp"
#include "stores/etcd/etcd_store.hpp"

namespace {

constexpr std::size_t pairs = 16;  // of one round
constexpr std::size_t rounds = 40;
constexpr std::size_t bursts = 60;
constexpr double longest_p99 = 10'000;  // µs

// What each way's hand-over shows at worst; the library's beside a limit in µs.
void measure_p99(bench::report& report, bench::contest& among) {
  constexpr char name[] = "etcd.hand_over_p99";
  if (!report.wants(name)) return;
  std::array<std::vector<double>, 3> gaps;
  std::size_t const count = report.how() == bench::effort::quick ? bursts / 3 : bursts;
  for (std::size_t i = 0; i <= count; ++i) {
    for (std::size_t way = 0; way < gaps.size(); ++way) {
      auto const some = among.play(way);
      if (i > 0) std::ranges::copy(some, std::back_inserter(gaps.at(way)));
    }
  }
  std::array<double, 3> worst{};
  for (std::size_t way = 0; way < gaps.size(); ++way) {
    auto& all = gaps.at(way);
    std::ranges::sort(all);
    worst.at(way) = all[all.size() * 99 / 100];
  }
  report.add({name, worst[0], "us", longest_p99, worst[0] / longest_p99, bench::at_most(1)});
  report.add({std::string(name) + "_beside_by_hand", worst[0], "us", worst[1], worst[0] / worst[1],
              bench::no_limit});
  report.add({std::string(name) + "_beside_lock_service", worst[0], "us", worst[2],
              worst[0] / worst[2], bench::no_limit});
}

void measure_etcd(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::etcd_server server({"--unsafe-no-fsync=false"});
  bench::pin_if_asked(1);
  {
    bench::contest among([&](std::size_t number) {
      bench::turn_takers ways;
      ways.push_back(std::make_unique<bench::lease_taker>(server.url(), "hand-over"));
      ways.push_back(std::make_unique<bench::etcd::lock_by_hand>(server.port(), "raw", number));
      ways.push_back(std::make_unique<bench::etcd::lock_service>(server.port(), "theirs", number));
      return ways;
    });
    compare_hand_overs(report, among, {.name = "etcd.hand_over_p50", .limit = bench::at_most(1.5)});
    compare_hand_overs(report, among,
                       {.name = "etcd.hand_over_beside_lock_service",
                        .baseline = 2,
                        .limit = bench::at_most(1),
                        .bursts = bursts / 3});
    measure_p99(report, among);
  }
  bench::pair_maker ours(&herdlock::open_etcd, server.url());
  bench::etcd::lock_by_hand minimum(server.port(), "pairs", bench::contenders);
  report.compare({.name = "etcd.acquire_release",
                  .unit = "us",
                  .subject = [&] { return ours.round(pairs); },
                  .baseline = [&] { return bench::pairs_of(minimum, pairs); },
                  .limit = bench::at_most(1.25),
                  .rounds = rounds});
}

bench::suite const etcd_suite("etcd", [](bench::report& report) {
  try {
    measure_etcd(report);
  } catch (std::runtime_error const& why) {
    report.skip("etcd", why.what());
  }
});

}  // namespace
