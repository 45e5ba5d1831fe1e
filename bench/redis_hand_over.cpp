// The hand-over: eight processes arrive together on one resource, each holds it for a millisecond.
// The gap is from the call of a release to the return of the next acquisition. Beside it the same
// with a token in a list, taken by BLPOP and put back by LPUSH: the floor of a pushed wake-up.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the processes on CPU 1.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/redis/connection.hpp>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <support/redis_server.hpp>

#include <herdlock/herdlock.hpp>

#include "contenders.hpp"
#include "harness.hpp"
#include "support/as_result.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using boost::system::error_code;

constexpr std::size_t bursts = 150;  // of seven hand-overs each, on both sides
constexpr std::size_t by_lease = 0;  // the ways of the contest
constexpr std::size_t by_list = 1;
constexpr char const* resource_name = "hand-over";
constexpr char const* list_name = "hand-over-list";

// A token in a list: the floor of a pushed wake-up.
class list_taker final : public bench::turn_taker {
 public:
  explicit list_taker(std::uint16_t port) {
    boost::redis::config config;
    config.addr.port = std::to_string(port);
    config.health_check_interval = 0s;
    raw_.async_run(config, boost::redis::logger(boost::redis::logger::level::disabled),
                   [](error_code) {});
    take_.push("BLPOP", list_name, "60");
    give_.push("LPUSH", list_name, "token");
    boost::redis::request ping;
    ping.push("PING");
    send(ping);
    error_code ignored;
    raw_.next_layer().next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
  }
  void take() override { send(take_); }
  void give_back() override { send(give_); }

 private:
  void send(boost::redis::request const& what) {
    bool done = false;
    raw_.async_exec(what, boost::redis::ignore, [&](error_code ec, std::size_t) {
      if (ec) std::abort();
      done = true;
    });
    io_.restart();
    while (!done) io_.run_one();
  }

  asio::io_context io_{1};
  boost::redis::connection raw_{io_.get_executor()};
  boost::redis::request take_;
  boost::redis::request give_;
};

using gaps = std::vector<double>;  // in µs

double quantile(gaps values, double q) {
  std::sort(values.begin(), values.end());
  auto const last = static_cast<double>(values.size() - 1);
  return values.at(static_cast<std::size_t>(std::lround(q * last)));
}

void play(bench::contest& among, std::size_t way, gaps& into) {
  auto const burst = among.play(way);
  into.insert(into.end(), burst.begin(), burst.end());
}

// Calls of each command so far, those that scripts make included.
double calls(herdlock_test::redis_server const& server, std::string const& command) {
  std::istringstream lines(server.cli("INFO commandstats"));
  double sum = 0;
  for (std::string line; std::getline(lines, line);) {
    auto const end = line.find(":calls=");
    if (end == std::string::npos) continue;
    bool const wanted = command.empty() || line.substr(0, end) == "cmdstat_" + command;
    if (wanted) sum += std::stod(line.substr(end + 7));
  }
  return sum;
}

void add(bench::report& report, std::string name, double value, double baseline, std::string unit,
         bench::ratio_limit limit) {
  report.add({std::move(name), value, std::move(unit), baseline, value / baseline, limit});
}

// What is sent for an acquisition and its release: scripts, a PING in front of some, and the beats
// of those who wait (every PUBLISH but the pushed grants, which a script makes, one for each
// hand-over).
double sent(herdlock_test::redis_server const& server) {
  return calls(server, "evalsha") + calls(server, "eval") + calls(server, "ping") +
         calls(server, "publish");
}

void measure_bursts(bench::report& report, bench::contest& among,
                    herdlock_test::redis_server& server) {
  among.play(by_lease);  // both warm
  among.play(by_list);
  gaps leases;
  gaps list;
  std::size_t const rounds = report.how() == bench::effort::quick ? bursts / 10 : bursts;
  double commands = 0;
  double all = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    auto const before = sent(server);
    auto const all_before = calls(server, "");
    play(among, by_lease, leases);
    commands += sent(server) - before;
    all += calls(server, "") - all_before;
    play(among, by_list, list);
  }
  auto const acquisitions = static_cast<double>(rounds * bench::contenders);
  commands -= static_cast<double>(leases.size());
  all -= static_cast<double>(rounds * 4);  // INFO
  add(report, "hand_over.p50", quantile(leases, 0.5), quantile(list, 0.5), "us",
      bench::at_most(1.5));
  add(report, "hand_over.p99", quantile(leases, 0.99), quantile(list, 0.99), "us",
      bench::at_most(2.5));
  add(report, "hand_over.commands_sent", commands / acquisitions, 1, "per lease",
      bench::at_most(4));
  add(report, "hand_over.with_those_in_scripts", all / acquisitions, 1, "per lease",
      bench::no_limit);
}

void with_contenders(bench::report& report) {
  bench::pin_if_asked(0);
  herdlock_test::redis_server server;
  bench::pin_if_asked(1);
  server.cli(std::string("LPUSH ") + list_name + " token");
  auto make = [&](std::size_t) {
    bench::turn_takers ways;
    ways.push_back(std::make_unique<bench::lease_taker>(server.url(), resource_name));
    ways.push_back(std::make_unique<list_taker>(server.port()));
    return ways;
  };
  bench::contest among(make);
  measure_bursts(report, among, server);
}

// Ten thousand in the queue at once, each served and gone.
void with_a_long_queue(bench::report& report) {
  constexpr std::size_t many = 10'000;
  bench::pin_if_asked(0);
  herdlock_test::redis_server server;
  bench::pin_if_asked(1);
  asio::io_context io{1};
  {
    auto const opened =
        open_store(server.url(), {.executor = io.get_executor(), .guard = executor_guard::none});
    lock const where(opened, resource_name);
    std::size_t done = 0;
    auto const take = [&](std::size_t count, acquired* keep) {
      for (std::size_t i = 0; i < count; ++i) {
        where.async_acquire({.ttl = 30s, .wait = 10min},
                            herdlock_test::as_result([&, keep](result<acquired> r) {
                              if (!r.has_value() || !r->has_value()) std::abort();
                              if (keep) *keep = std::move(*r);
                              ++done;  // else it is released by its destructor
                            }));
      }
    };
    acquired first;
    take(1, &first);
    while (done < 1) io.run_one();
    take(many, nullptr);
    while (server.cli("ZCARD {hand-over}:herdlock:queue") != std::to_string(many)) io.poll();
    auto const before = sent(server);
    first.reset();
    while (done < many + 1) io.run_one();
    auto const commands = sent(server) - before - static_cast<double>(many);
    add(report, "hand_over.commands_sent_10000_queued", commands / many, 1, "per lease",
        bench::at_most(4));
  }
  io.restart();
  io.run();
}

bench::suite const hand_over_suite("hand_over", [](bench::report& report) {
  try {
    with_contenders(report);
    with_a_long_queue(report);
  } catch (std::runtime_error const& why) {
    report.skip("hand_over", why.what());
  }
});

}  // namespace
