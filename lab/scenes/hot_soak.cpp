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
    on.processes().start_all(how_.processes, "process",
                             [&](std::size_t n) { work(how_, *seen, n, server.url()); });
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
    return std::ranges::all_of(std::span(seen.processes).first(how_.processes), holds);
  }

  void play_bursts(stage& on, board& seen) {
    for (int burst = 1; burst <= how_.bursts; ++burst) {
      on.tell("bursts", 1.0 * burst / how_.bursts);
      seen.burst = burst;
      auto const keeps_it = [burst](process const& one) {
        return one.bursts.at(burst).kept_ns != 0;
      };
      on.await("not all processes keep the key", [&] { return in_each(seen, keeps_it); });
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
    auto& out = on.out();
    out.figure("calls a second of each process", how_.rate);
    out.figure("time", in_seconds(in_ns(how_.time)), "s");
    out.figure("became hot, at most", seen.most(&process::became_hot));
    out.figure("cooled, at most", seen.most(&process::cooled));
    judge_even(seen, on.judged());
  }

  void play_crowd(stage& on, board& seen, redis_server const& server) {
    cache<std::string> const writer(
        open_here(server.url()),
        {.prefix = no_prefix, .ttl = how_.ttl, .near = {.mode = near_cache::off}});
    on.pass(2s);
    auto const all_keep_it = [&] { return in_each(seen, &process::near_hits); };
    on.await("not all processes keep the key", all_keep_it);
    for (auto& one : seen.processes) one.reported_before = one.reported.load();
    auto const before = commands(server, seen);
    auto const began = steady_ns();
    int written = 0;
    while (steady_ns() - began < in_ns(how_.time)) {
      on.tell("one key as fast as all can", in_ms(steady_ns() - began) / in_ms(in_ns(how_.time)));
      if (how_.writes != 0) {
        writer.put("crowd", std::to_string(++written));
        seen.acknowledged = written;
      }
      on.pass(how_.every);
    }
    double const seconds = in_seconds(steady_ns() - began);
    crowd_seen all{.writes_a_second = written / seconds};
    for (auto const& one : seen.processes) {
      double const rate = (one.reported - one.reported_before) / seconds;
      all.reports_a_second = std::max(all.reports_a_second, rate);
    }
    auto& out = on.out();
    for (auto const& [name, calls] : commands(server, seen)) {
      double const rate = (calls - before.at(name)) / seconds;
      all.commands_a_second += rate;
      out.figure(name + " a second", rate);
    }
    double const there_s = fall_quiet(on, seen, server, all);
    end(on, seen);
    out.figure("commands a second for the key", all.commands_a_second);
    out.figure("calls", seen.sum(&process::calls));
    out.figure("near hits", seen.sum(&process::near_hits));
    out.figure("calls behind a fence", seen.sum(&process::behind_fence));
    out.figure("too old behind a fence", seen.sum(&process::stale));
    out.figure("entry missed", seen.sum(&process::misses));
    out.figure("ttls", seconds / in_seconds(in_ns(how_.ttl)));
    out.figure("entry there when nobody asked any more, for", there_s, "s");
    out.figure("reports a second of a process, at most", all.reports_a_second);
    out.figure("last process let go after", in_seconds(seen.most(&process::let_go_ns)), "s");
    judge_crowd(how_, seen, all, on.judged());
  }

  // How long the entry is still there.
  double fall_quiet(stage& on, board& seen, redis_server const& server, crowd_seen& all) const {
    seen.quiet = true;
    auto const stopped = steady_ns();
    on.tell("nobody asks any more");
    auto const all_let_go = [&] { return in_each(seen, &process::let_go_ns); };
    on.await("a process does not let go of the key", all_let_go);
    auto const lasts = how_.ttl + 2 * how_.window + (how_.times != 0 ? slack : long_slack);
    auto const has_ended = [&] { return server.command({"EXISTS", "crowd"}) == "0"; };
    all.entry_ended = on.waited_for(has_ended, lasts);
    return in_seconds(steady_ns() - stopped);
  }

  // Reads, claims, fills and writes; reports, fences and signs of life are not of the key. Nor are
  // the looks of those who wait to collect the reports: a script each, with one ZSCORE.
  static std::map<std::string, long> commands(redis_server const& server, board const& seen) {
    std::map<std::string, long> all;
    for (auto const* one : {"client|caching", "get", "pttl", "evalsha", "eval"}) {
      all[one] = server.calls(one);
    }
    auto const looks = server.calls("zscore");
    all["evalsha"] -= seen.sum(&process::reported) + looks;
    all["get"] -= 2 * looks;
    all["pttl"] -= looks;
    return all;
  }

  terms how_;
};

}  // namespace
}  // namespace hot_soak

listed_scene const hot_soak_scene{
    "hot-soak", "A fleet and one hot key: how soon is it kept, and what has the server of it?",
#include "scenes/hot_soak_help.txt"
    , false, made<hot_soak::played>};

}  // namespace herdlock::lab
