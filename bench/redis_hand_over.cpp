// The hand-over: eight processes arrive together on one resource, each holds it for a millisecond.
// The gap is from the call of a release to the return of the next acquisition. Beside it the same
// with a token in a list, taken by BLPOP and put back by LPUSH: the floor of a pushed wake-up.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the processes on CPU 1.
#include <set>
#include <sstream>
#include <support/redis_server.hpp>

#include "contenders.hpp"
#include "raw_redis.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using herdlock_test::redis_server;

constexpr std::size_t bursts = 150;  // of seven hand-overs each, on both sides
constexpr char const* resource_name = "hand-over";
constexpr char const* list_name = "hand-over-list";

class list_taker final : public bench::turn_taker {
 public:
  explicit list_taker(std::uint16_t port) : raw_(loop_, port) {
    take_.push("BLPOP", list_name, "60");
    give_.push("LPUSH", list_name, "token");
  }
  void take() override { raw_.send(take_); }
  void give_back() override { raw_.send(give_); }

 private:
  bench::event_loop loop_;
  bench::raw_redis raw_;
  boost::redis::request take_;
  boost::redis::request give_;
};

// Calls so far, those that scripts make included; and what is sent for an acquisition and its
// release: scripts, a PING in front of some, and the beats of those who wait (every PUBLISH but the
// pushed grants, which a script makes, one for each hand-over).
struct calls {
  double all = 0;
  double sent = 0;
};
calls calls_of(redis_server const& server) {
  std::set<std::string> const sent{"cmdstat_evalsha", "cmdstat_eval", "cmdstat_ping",
                                   "cmdstat_publish"};
  calls seen;
  std::istringstream lines(server.cli("INFO commandstats"));
  for (std::string line; std::getline(lines, line);) {
    auto const end = line.find(":calls=");
    if (end == std::string::npos) continue;
    double const count = std::stod(line.substr(end + 7));
    seen.all += count;
    if (sent.contains(line.substr(0, end))) seen.sent += count;
  }
  return seen;
}

void with_contenders(bench::report& report) {
  auto const server = bench::started<redis_server>();
  server.cli(std::string("LPUSH ") + list_name + " token");
  bench::contest among([&](std::size_t) {
    bench::turn_takers ways;
    ways.push_back(std::make_unique<bench::lease_taker>(server.url(), resource_name));
    ways.push_back(std::make_unique<list_taker>(server.port()));
    return ways;
  });
  auto const by_lease = among.by(0);
  by_lease();  // warm, before anything is counted
  double acquisitions = 0;
  calls used;
  auto const counted = [&] {
    auto const before = calls_of(server);
    auto found = by_lease();
    auto const after = calls_of(server);
    acquisitions += bench::contenders;
    used.sent += after.sent - before.sent - static_cast<double>(found.size());
    used.all += after.all - before.all - 1;  // INFO
    return found;
  };
  auto const all = bench::gaps_of({counted, among.by(1)}, report.times(bursts));
  auto const add = [&](char const* name, double share, double limit) {
    report.add(name, bench::lab::percentile(all[0], share), "us",
               bench::lab::percentile(all[1], share), bench::at_most(limit));
  };
  add("hand_over.p50", 0.5, 1.5);
  add("hand_over.p99", 0.99, 2.5);
  report.add("hand_over.commands_sent", used.sent / acquisitions, "per lease", 1,
             bench::at_most(4));
  report.add("hand_over.with_those_in_scripts", used.all / acquisitions, "per lease", 1);
}

// Ten thousand in the queue at once, each served and gone.
void with_a_long_queue(bench::report& report) {
  constexpr std::size_t many = 10'000;
  auto const server = bench::started<redis_server>();
  bench::event_loop loop;
  auto const opened = loop.open(server.url());
  lock const where(opened, resource_name);
  std::size_t done = 0;
  auto const take = [&](acquired* keep) {
    where.async_acquire({.ttl = 30s, .wait = 10min},
                        bench::as_result([&, keep](result<acquired> r) {
                          bench::must(r.has_value() && r->has_value(), "the queue stands still");
                          if (keep) *keep = std::move(*r);
                          ++done;  // else it is released by its destructor
                        }));
  };
  acquired first;
  take(&first);
  loop.until([&] { return done == 1; });
  for (std::size_t i = 0; i < many; ++i) take(nullptr);
  while (server.cli("ZCARD {hand-over}:herdlock:queue") != std::to_string(many)) {
    loop.context.poll();
  }
  auto const before = calls_of(server).sent;
  first.reset();
  loop.until([&] { return done == many + 1; });
  auto const commands = calls_of(server).sent - before - static_cast<double>(many);
  report.add("hand_over.commands_sent_10000_queued", commands / many, "per lease", 1,
             bench::at_most(4));
}

bench::suite const hand_over_suite("hand_over", [](bench::report& report) {
  with_contenders(report);
  with_a_long_queue(report);
});

}  // namespace
