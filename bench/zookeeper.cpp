// Acquire and release over ZooKeeper, and the hand-over among eight processes, beside the requests
// that they take at least, sent by hand through the same C client; and beside kazoo's Lock.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the clients on CPU 1.
#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <support/zookeeper_server.hpp>

#include "contenders.hpp"
#include "stores/zookeeper/zookeeper_store.hpp"

namespace {

using namespace std::chrono_literals;

constexpr std::size_t pairs = 16;  // of one round
constexpr std::size_t rounds = 40;
constexpr std::size_t bursts = 60;

// The requests of the lock recipe and nothing else; every call blocks.
class by_hand final : public bench::turn_taker {
 public:
  by_hand(std::string const& servers, std::string path) : path_(std::move(path)) {
    zk_ = zookeeper_init2(servers.c_str(), &on_event, 10'000, nullptr, this, 0, [](char const*) {});
    wait_until(connected_);
    must(zoo_create(zk_, path_.c_str(), nullptr, -1, &ZOO_OPEN_ACL_UNSAFE, 0, nullptr, 0));
  }
  ~by_hand() override { zookeeper_close(zk_); }
  by_hand(by_hand const&) = delete;
  by_hand& operator=(by_hand const&) = delete;

  void take() override {
    char mine[512];
    must(zoo_create(zk_, (path_ + "/x-lock-").c_str(), "x", 1, &ZOO_OPEN_ACL_UNSAFE,
                    ZOO_EPHEMERAL_SEQUENTIAL, mine, sizeof mine));
    mine_ = mine;
    String_vector found{};
    must(zoo_get_children(zk_, path_.c_str(), 0, &found));
    std::string before;
    std::string const name = mine_.substr(path_.size() + 1);
    for (int i = 0; i < found.count; ++i) {
      std::string const one = found.data[i];
      if (one < name && one > before) before = one;
    }
    deallocate_String_vector(&found);
    if (before.empty()) return;
    {
      std::lock_guard const alone(guard_);
      gone_ = false;
    }
    Stat ignored{};
    auto const there = zoo_wexists(zk_, (path_ + "/" + before).c_str(), &on_gone, this, &ignored);
    if (there == ZNONODE) return;
    must(there);
    wait_until(gone_);
  }
  void give_back() override { must(zoo_delete(zk_, mine_.c_str(), -1)); }

 private:
  static void must(int code) {
    if (code != ZOK && code != ZNODEEXISTS) throw std::runtime_error(zerror(code));
  }
  static void on_event(zhandle_t*, int, int state, char const*, void* self) {
    if (state == ZOO_CONNECTED_STATE) static_cast<by_hand*>(self)->tell(&by_hand::connected_);
  }
  static void on_gone(zhandle_t*, int type, int, char const*, void* self) {
    if (type == ZOO_DELETED_EVENT) static_cast<by_hand*>(self)->tell(&by_hand::gone_);
  }
  void tell(bool by_hand::*what) {
    std::lock_guard const alone(guard_);
    this->*what = true;
    changed_.notify_all();
  }
  void wait_until(bool const& what) {
    std::unique_lock alone(guard_);
    if (!changed_.wait_for(alone, 20s, [&] { return what; })) throw std::runtime_error("no event");
  }

  std::string const path_;
  std::mutex guard_;
  std::condition_variable changed_;
  bool connected_ = false;
  bool gone_ = false;
  std::string mine_;
  zhandle_t* zk_ = nullptr;
};

// A process with kazoo's Lock.
class kazoo {
 public:
  kazoo(std::string const& servers, std::string const& path)
      : child_({.argv = {"/usr/bin/python3", HERDLOCK_KAZOO_BENCH, servers, path},
                .input = herdlock_test::process_input::pipe}) {}

  void tell(std::string const& what) { child_.write_line(what); }
  std::string answer() {
    std::string line;
    bool const answered = herdlock_test::eventually([&] {
      auto const all = child_.output();
      auto const end = all.find('\n', read_);
      if (end != all.npos) line = all.substr(read_, end - read_);
      return end != all.npos || !child_.running();
    });
    if (!answered || line.empty()) throw std::runtime_error("kazoo: " + child_.errors());
    read_ += line.size() + 1;
    return line;
  }
  double pairs_of() {
    tell("pairs " + std::to_string(pairs));
    return std::stod(answer());
  }

 private:
  herdlock_test::child_process child_;
  std::size_t read_ = 0;
};

using kazoos = std::vector<std::unique_ptr<kazoo>>;

// The gaps of a burst of all of them, as contest::play().
std::vector<double> play(kazoos const& all) {
  for (auto const& one : all) one->tell("turn");
  std::vector<std::pair<double, double>> turns;
  for (auto const& one : all) {
    std::istringstream times(one->answer());
    auto& turn = turns.emplace_back();
    times >> turn.first >> turn.second;
  }
  std::ranges::sort(turns);
  std::vector<double> gaps;
  for (std::size_t i = 0; i + 1 < turns.size(); ++i) {
    gaps.push_back((turns[i + 1].first - turns[i].second) / 1000);
  }
  return gaps;
}

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void beside_kazoo(bench::report& report, bench::contest& ours, std::string const& servers,
                  std::string const& path) {
  constexpr char name[] = "zookeeper.hand_over_beside_kazoo";
  if (!report.wants(name)) return;
  kazoos all;
  for (std::size_t i = 0; i < bench::contenders; ++i) {
    all.push_back(std::make_unique<kazoo>(servers, path));
  }
  play(all);
  ours.play(0);
  std::vector<double> subject;
  std::vector<double> baseline;
  std::size_t const count = report.how() == bench::effort::quick ? bursts / 10 : bursts;
  for (std::size_t i = 0; i < count; ++i) {
    std::ranges::copy(ours.play(0), std::back_inserter(subject));
    std::ranges::copy(play(all), std::back_inserter(baseline));
  }
  double const value = median(std::move(subject));
  double const beside = median(std::move(baseline));
  report.add({name, value, "us", beside, value / beside, bench::at_most(0.8)});
}

void measure(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::zookeeper_server server(1, {.syncs = herdlock_test::disk_syncs::kept});
  bench::pin_if_asked(1);
  auto const url = server.url("/bench");
  auto const servers = "127.0.0.1:" + std::to_string(server.port());
  {
    bench::contest among([&](std::size_t) {
      bench::turn_takers ways;
      ways.push_back(std::make_unique<bench::lease_taker>(url, "hand-over"));
      ways.push_back(std::make_unique<by_hand>(servers, "/by-hand"));
      return ways;
    });
    compare_hand_overs(report, among,
                       {.name = "zookeeper.hand_over_p50", .limit = bench::at_most(1.5)});
    beside_kazoo(report, among, servers, "/kazoo-hand-over");
  }
  bench::lease_taker ours(url, "pairs");
  by_hand minimum(servers, "/pairs");
  report.compare({.name = "zookeeper.acquire_release",
                  .unit = "us",
                  .subject = [&] { return bench::pairs_of(ours, pairs); },
                  .baseline = [&] { return bench::pairs_of(minimum, pairs); },
                  .limit = bench::at_most(1.25),
                  .rounds = rounds});
  bench::pair_maker trying(&herdlock::open_zookeeper, url);
  report.compare({.name = "zookeeper.try_acquire_release",
                  .unit = "us",
                  .subject = [&] { return trying.round(pairs); },
                  .baseline = [&] { return bench::pairs_of(minimum, pairs); },
                  .limit = bench::at_most(1.25),
                  .rounds = rounds});
  kazoo theirs(servers, "/kazoo-pairs");
  report.compare({.name = "zookeeper.acquire_release_beside_kazoo",
                  .unit = "us",
                  .subject = [&] { return bench::pairs_of(ours, pairs); },
                  .baseline = [&] { return theirs.pairs_of(); },
                  .limit = bench::at_most(0.8),
                  .rounds = rounds});
}

bench::suite const zookeeper_suite("zookeeper", [](bench::report& report) {
  try {
    measure(report);
  } catch (std::runtime_error const& why) {
    report.skip("zookeeper", why.what());
  }
});

}  // namespace
