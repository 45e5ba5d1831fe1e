// The hand-over: eight processes arrive together on one resource, each holds it for a millisecond.
// The gap is from the call of a release to the return of the next acquisition. Beside it the same
// with a token in a list, taken by BLPOP and put back by LPUSH: the floor of a pushed wake-up.
//
// HERDLOCK_BENCH_PIN=1 keeps the server on CPU 0 and the processes on CPU 1.
#include <sstream>
#include <support/redis_server.hpp>

#include "contenders.hpp"
#include "raw_redis.hpp"

namespace {

using namespace bench;
using namespace herdlock;
using namespace std::chrono_literals;
using herdlock_test::redis_server;

constexpr std::size_t bursts = 150;  // of seven hand-overs each, on both sides
constexpr char const* resource_name = "hand-over";
constexpr char const* list_name = "hand-over-list";

class list_taker final : public turn_taker {
 public:
  explicit list_taker(std::uint16_t port) : raw_(loop_, port) {
    take_.push("BLPOP", list_name, "60");
    give_.push("LPUSH", list_name, "token");
  }
  void take() override { raw_.send(take_); }
  void give_back() override { raw_.send(give_); }

 private:
  event_loop loop_;
  raw_redis raw_;
  boost::redis::request take_, give_;
};

// Calls so far, those that scripts make included; and what is sent for an acquisition and its
// release: scripts, a PING in front of some, and the beats of those who wait (every PUBLISH but the
// pushed grants, which a script makes, one for each hand-over).
struct calls {
  double all = 0, sent = 0;
};
calls calls_of(redis_server const& server) {
  constexpr std::string_view sent[] = {"cmdstat_evalsha", "cmdstat_eval", "cmdstat_ping",
                                       "cmdstat_publish"};
  calls seen;
  std::istringstream lines(server.cli("INFO commandstats"));
  for (std::string line; std::getline(lines, line);) {
    auto const end = line.find(":calls=");
    if (end == std::string::npos) continue;
    double const count = std::stod(line.substr(end + 7));
    seen.all += count;
    if (std::ranges::count(sent, line.substr(0, end)) != 0) seen.sent += count;
  }
  return seen;
}

void with_contenders(report& to) {
  auto const server = started<redis_server>();
  server.cli(std::string("LPUSH ") + list_name + " token");
  contest among([&](turn_takers& ways, std::size_t) {
    ways.push_back(std::make_unique<lease_taker>(server.url(), resource_name));
    ways.push_back(std::make_unique<list_taker>(server.port()));
  });
  auto const by_lease = among.by(0);
  by_lease();  // warm, before anything is counted
  double acquisitions = 0;
  calls used;
  auto const counted = [&] {
    auto const before = calls_of(server);
    auto found = by_lease();
    auto const after = calls_of(server);
    acquisitions += contenders;
    used.sent += after.sent - before.sent - static_cast<double>(found.size());
    used.all += after.all - before.all - 1;  // INFO
    return found;
  };
  auto const all = gaps_of({counted, among.by(1)}, to.times(bursts));
  add_percentile(to, "hand_over.p50", 0.5, all[0], all[1], at_most(1.5));
  add_percentile(to, "hand_over.p99", 0.99, all[0], all[1], at_most(2.5));
  to.add("hand_over.commands_sent", used.sent / acquisitions, "per lease", 1, at_most(4));
  to.add("hand_over.with_those_in_scripts", used.all / acquisitions, "per lease", 1);
}

// Ten thousand in the queue at once, each served and gone.
void with_a_long_queue(report& to) {
  constexpr std::size_t many = 10'000;
  auto const server = started<redis_server>();
  event_loop loop;
  auto const opened = loop.open(server.url());
  lock const where(opened, resource_name);
  std::size_t done = 0;
  auto const take = [&](acquired* keep) {
    where.async_acquire({.ttl = 30s, .wait = 10min}, as_result([&, keep](result<acquired> r) {
                          must(r.has_value() && r->has_value(), "the queue stands still");
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
  to.add("hand_over.commands_sent_10000_queued", commands / many, "per lease", 1, at_most(4));
}

suite const hand_over_suite("hand_over", [](report& to) {
  with_contenders(to);
  with_a_long_queue(to);
});

}  // namespace
