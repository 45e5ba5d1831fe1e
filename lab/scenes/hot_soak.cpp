// A fleet over one Redis, one hot key, and what the server sees of it.
#include "scenes/hot_soak.hpp"

#include <herdlock/cache.hpp>
#include <map>
#include <support/redis_server.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace hot_soak {
namespace {

using herdlock_test::redis_server;
using namespace std::chrono_literals;

class played : public scene {
 public:
  void declare(options& all) override {
    constexpr range<milliseconds> any_time{100ms, 24h};
    all.choice("--case", how_.what, {"burst", "even", "crowd"}, "What is tried: below");
    all.number("--processes", how_.processes, {1, most_processes}, "Processes of the fleet");
    all.number("--bursts", how_.bursts, {1, most_bursts - 1}, "burst: keys, one after the other");
    all.number("--rate", how_.rate, {1, 1e6}, "burst, even: calls a second of each process");
    all.number("--writes", how_.writes, {0, 1}, "crowd: 0 writes the key never");
    all.time("--every", how_.every, any_time, "crowd: between two writes");
    all.time("--time", how_.time, any_time, "even, crowd: how long it is asked for");
    all.time("--ttl", how_.ttl, any_time, "Of the entries");
    all.time("--window", how_.window, any_time, "In which keys are counted");
    all.number("--times", how_.times, {0, 1}, "crowd: 1 judges how soon they let go of the key");
  }

  void play(stage& on) override {
    auto const server = own_server<redis_server>();
    shared<board> seen;
    for (int i = 0; i < how_.processes; ++i) {
      auto const number = static_cast<std::size_t>(i);
      on.processes().start(fmt::format("process {}", i + 1),
                           [&, number] { work(how_, *seen, number, server.url()); });
    }
    on.await("the processes did not begin", [&] { return seen->joined == how_.processes; });
    on.out().line(fmt::format("{}: {} over a Redis of their own", how_.what,
                              counted(how_.processes, "process", "processes")));
    if (how_.what == "burst") play_bursts(on, *seen);
    if (how_.what == "even") play_even(on, *seen);
    if (how_.what == "crowd") play_crowd(on, *seen, server);
    judge_end(how_, *seen, on.judged());
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  static void end(stage& on, board& seen) {
    seen.stop = true;
    on.await_end();
    on.tell_nothing();
  }

  template <class Holds>
  bool in_each(board const& seen, Holds holds) const {
    return std::all_of(seen.processes.begin(), seen.processes.begin() + how_.processes, holds);
  }

  void play_bursts(stage& on, board& seen) {
    for (int burst = 1; burst <= how_.bursts; ++burst) {
      on.tell("bursts", static_cast<double>(burst) / how_.bursts);
      seen.burst = burst;
      on.await("not all processes keep the key", [&] {
        return in_each(seen, [&](process const& one) {
          return one.bursts[static_cast<std::size_t>(burst)].kept_ns != 0;
        });
      });
      seen.burst = 0;
      // A process tells of keys that have become hot ten times a second at most.
      on.pass(200ms);
    }
    end(on, seen);
    bursts_seen const all(how_, seen);
    auto& out = on.out();
    out.figure("bursts", how_.bursts);
    out.figure("calls a second of each process", how_.rate);
    out.figure("calls to the server before the first near hit, p50", percentile(all.asked, 0.5));
    out.figure("calls to the server before the first near hit, p99", percentile(all.asked, 0.99));
    out.figure("within 32 reads, a tick and a round trip", all.within);
    out.figure("beyond them", all.beyond);
    out.figure("last process behind the first, p50", percentile(all.spread_ms, 0.5), "ms");
    out.figure("last process behind the first, p99", percentile(all.spread_ms, 0.99), "ms");
    judge_bursts(all, on.judged());
  }

  void play_even(stage& on, board& seen) {
    on.tell("one key at an even rate");
    on.pass(how_.time);
    end(on, seen);
    std::uint64_t hot = 0, cooled = 0;
    for (auto const& one : seen.processes) {
      hot = std::max(hot, one.became_hot.load());
      cooled = std::max(cooled, one.cooled.load());
    }
    auto& out = on.out();
    out.figure("calls a second of each process", how_.rate);
    out.figure("time", in_seconds(in_ns(how_.time)), "s");
    out.figure("became hot, at most", hot);
    out.figure("cooled, at most", cooled);
    judge_even(seen, on.judged());
  }

  void play_crowd(stage& on, board& seen, redis_server const& server) {
    cache<std::string> const writer(
        open_here(server.url()),
        {.prefix = no_prefix, .ttl = how_.ttl, .near = near_cache::off, .hot_keys = std::nullopt});
    on.pass(2s);
    on.await("not all processes keep the key",
             [&] { return in_each(seen, [](process const& one) { return one.near_hits > 0; }); });
    auto const before = commands(server, seen);
    auto const reported_before = reported(seen);
    auto const began = steady_ns();
    std::uint64_t written = 0;
    while (steady_ns() - began < in_ns(how_.time)) {
      on.tell("one key as fast as all can",
              static_cast<double>(steady_ns() - began) / static_cast<double>(in_ns(how_.time)));
      if (how_.writes != 0) {
        writer.put("crowd", std::to_string(++written));
        seen.acknowledged = written;
      }
      on.pass(how_.every);
    }
    double const seconds = in_seconds(steady_ns() - began);
    crowd_seen all;
    all.writes_a_second = static_cast<double>(written) / seconds;
    auto const reported_then = reported(seen);
    for (std::size_t n = 0; n < reported_then.size(); ++n) {
      auto const sent = static_cast<double>(reported_then[n] - reported_before[n]);
      all.reports_a_second = std::max(all.reports_a_second, sent / seconds);
    }
    auto& out = on.out();
    for (auto const& [name, calls] : commands(server, seen)) {
      double const rate = static_cast<double>(calls - before.at(name)) / seconds;
      all.commands_a_second += rate;
      out.figure(name + " a second", rate);
    }
    double const there_s = fall_quiet(on, seen, server, all);
    end(on, seen);
    all.add(seen);
    out.figure("commands a second for the key", all.commands_a_second);
    out.figure("calls", all.calls);
    out.figure("near hits", all.near_hits);
    out.figure("calls behind a fence", all.behind_fence);
    out.figure("too old behind a fence", all.stale);
    out.figure("entry missed", all.misses);
    out.figure("ttls", seconds / in_seconds(in_ns(how_.ttl)));
    out.figure("entry there when nobody asked any more, for", there_s, "s");
    out.figure("reports a second of a process, at most", all.reports_a_second);
    out.figure("last process let go after", in_seconds(all.let_go_ns), "s");
    judge_crowd(how_, all, on.judged());
  }

  // How long the entry is still there.
  double fall_quiet(stage& on, board& seen, redis_server const& server, crowd_seen& all) const {
    seen.quiet = true;
    auto const stopped = steady_ns();
    on.tell("nobody asks any more");
    on.await("a process does not let go of the key",
             [&] { return in_each(seen, [](process const& one) { return one.let_go_ns != 0; }); });
    auto const lasts = how_.ttl + 2 * how_.window + (how_.times != 0 ? slack : stage::patience);
    all.entry_ended = on.waited_for(
        [&] {
          return server.command({"EXISTS", "crowd"}) == "0";
        },
        lasts);
    return in_seconds(steady_ns() - stopped);
  }

  std::vector<std::uint64_t> reported(board const& seen) const {
    std::vector<std::uint64_t> all;
    for (auto const& one : seen.processes) all.push_back(one.reported);
    return all;
  }

  // Reads, claims, fills and writes; reports, fences and signs of life are not of the key.
  std::map<std::string, long> commands(redis_server const& server, board const& seen) const {
    std::map<std::string, long> all;
    for (auto const* one : {"client|caching", "get", "pttl", "evalsha", "eval"}) {
      all[one] = server.calls(one);
    }
    for (auto const sent : reported(seen)) all["evalsha"] -= static_cast<long>(sent);
    return all;
  }

  terms how_;
};

constexpr char const* help = R"(What is tried:
  burst  a key that nobody asked for is asked for by each process --rate times a
         second, until all of them keep it; then the next one
  even   one key at --rate calls a second in each process, for --time: near the
         threshold of 1000 it must not come and go
  crowd  one key as fast as all can, for --time, while it is written each --every
         (unless --writes is 0: then its loads keep it there); then nobody asks any
         more. With --times 1 each process lets go of it within two windows, and it
         ends a ttl later, both within a second: a machine may have other work

Exit status: 0; 1 when more calls of a process went to the server than its reads
before it can be hot, and those in a tick and a round trip (one burst in a hundred
excepted), or half the bursts were kept by all later than 50 ms behind the first;
when a key became hot or cooled more than once; when the server had more than 30
commands a second for the key, two for each write, and three for each write and
process; when a value behind a fence was older than a write that was acknowledged
before the fence; when the entry ended while it was hot, or was there for longer
than two windows and a ttl afterwards; when a process sent more than 20 reports a
second. 64 for usage; 69 when there is no redis-server, or a process failed.

Examples:
  herdlock-lab hot-soak --bursts 100
  herdlock-lab hot-soak --case even --rate 1000 --time 60s
  herdlock-lab hot-soak --case crowd --writes 0 --time 20s --times 1)";

}  // namespace
}  // namespace hot_soak

listed_scene const hot_soak_scene{
    "hot-soak", "A fleet and one hot key: how soon is it kept, and what has the server of it?",
    hot_soak::help, false, made<hot_soak::played>};

}  // namespace herdlock::lab
