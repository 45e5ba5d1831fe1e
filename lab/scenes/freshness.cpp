// A fleet over one Redis, and how often its keys are loaded.
#include "scenes/freshness.hpp"

#include <support/redis_server.hpp>

#include "scenes/scenes.hpp"
#include "stage/own_server.hpp"

namespace herdlock::lab {
namespace freshness {
namespace {

using herdlock_test::redis_server;
using std::chrono::hours;

class played : public scene {
 public:
  void declare(options& all) override {
    constexpr range<milliseconds> any_time{milliseconds(1), hours(24)};
    all.choice("--case", how_.what, {"claim", "alone", "outage", "full"}, "What is tried: below");
    all.number("--generations", how_.generations, {1, most_generations - 1},
               "claim, alone: how often the key is filled");
    all.number("--processes", how_.processes, {1, 1000}, "Processes of the fleet");
    all.number("--callers", how_.callers, {1, 10'000}, "Callers in each of them");
    all.number("--keys", how_.keys, {1, 10'000}, "full: keys of each kind");
    all.time("--ttl", how_.ttl, any_time, "Of the entry");
    all.time("--load", how_.load, any_time, "What a load takes");
    all.time("--pause", how_.pause, any_time, "Between two calls of a caller");
    all.number("--beta", how_.beta, {0, 1000}, "claim, alone: early refresh, as in XFetch");
    all.time("--outage", how_.outage, any_time, "How long the loader fails, or the store is full");
    all.time("--first", how_.first, any_time, "outage: the back-off behind the first error");
    all.time("--most", how_.most, any_time, "outage: the longest back-off");
    all.time("--excess", how_.excess, any_time, "What recovery may take beyond what is promised");
  }

  void play(stage& on) override {
    auto const server = own_server<redis_server>();
    shared<board> seen;
    on.processes().start_all(how_.processes, "process",
                             [&](std::size_t) { work(how_, *seen, server.url()); });
    if (how_.what == "full") {
      play_full(on, server, *seen);
    } else {
      auto const last = how_.what == "outage" ? 3 : how_.generations + 1;
      for (std::uint64_t next = 1; next <= last; ++next) {
        on.tell("generations", 1.0 * next / last);
        await(on, "the key is not loaded any more", [&] { return seen->generation >= next; });
      }
    }
    if (how_.what == "outage") play_outage(on, *seen);
    seen->stop = true;
    on.await_end();
    on.tell_nothing();
    judge_fleet(how_, *seen, on.judged());
    tell(on.out(), *seen);
    on.out().data()["broken"] = on.judged().broken();
  }

 private:
  template <class Condition>
  void await(stage& on, std::string_view what, Condition holds) const {
    on.await(what, holds, stage::patience + how_.ttl + how_.load + how_.outage + how_.most);
  }

  void play_outage(stage& on, board& seen) const {
    auto const from = steady_ns() + in_ns(how_.ttl) / 2;
    seen.fails_until = from + in_ns(how_.outage);
    seen.fails_from = from;
    on.tell("the loader fails");
    await(on, "the key is not loaded any more", [&] { return seen.recovered != 0; });
  }

  void play_full(stage& on, redis_server const& server, board& seen) const {
    await(on, "not all keys are there", [&] { return seen.warm == how_.processes; });
    server.command({"CONFIG", "SET", "maxmemory", "1"});
    seen.full_from = steady_ns();
    seen.store = memory::full;
    on.tell("the store is full");
    on.pass(how_.outage);
    seen.store = memory::room_again;
    std::vector<std::string> filled{"EXISTS"};
    for (int i = 0; i < how_.keys; ++i) filled.push_back(fmt::format("missing:{}", i));
    seen.refused = server.command(filled) == "0";
    server.command({"CONFIG", "SET", "maxmemory", "0"});
    seen.room_from = steady_ns();
    auto const is_filled = [&] {
      auto const there = std::stoi(server.command(filled));
      if (there > 0) note_first(seen.first_filled, steady_ns());
      if (there == how_.keys) seen.all_filled = steady_ns();
      return seen.all_filled != 0;
    };
    await(on, "the missing keys are not all filled", is_filled);
  }

  void tell(report& out, board const& seen) const {
    out.line(fmt::format("{}: {} callers in each of {} on a Redis of their own", how_.what,
                         how_.callers, counted(how_.processes, "process", "processes")));
    if (how_.what == "outage") {
      out.figure("loads in the outage", seen.failed_loads.load());
      out.figure("loads by the back-off", loads_by_back_off(how_, seen));
      out.figure("recovered after", in_ms(seen.recovered - seen.fails_until), "ms");
    } else if (how_.what == "full") {
      out.figure("full for", in_seconds(seen.room_from - seen.full_from), "s");
      out.figure("loads of cached keys", seen.loads_of_cached.load());
      out.figure("loads of missing keys", seen.loads_of_missing.load());
      out.figure("least time from a load to the next", in_ms(seen.least_gap_ns), "ms");
      out.figure("first fill after", in_ms(seen.first_filled - seen.room_from), "ms");
      out.figure("last fill after", in_ms(seen.all_filled - seen.room_from), "ms");
    } else {
      generations const all(how_, seen);
      out.figure("generations", all.count);
      out.figure("with more than one load begun", all.crowded);
      out.figure("loads per generation", 1.0 * all.loads / all.count);
      if (how_.what == "claim") {
        out.figure("mean head start", all.head_start_ms, "ms");
        out.figure("loads / (time / (ttl - head start))", all.beside_head_start);
      }
    }
    out.figure("calls", seen.calls.load());
    out.figure("stale answers", seen.stale.load());
    out.figure("errors", seen.errors.load());
    out.figure("waited for a load", seen.waited.load());
    latency_sum cached, plain;
    cached.add(seen.cached);
    plain.add(seen.plain);
    out.times("get_or_load", cached);
    out.times("plain get", plain);
    out.figure("p99.9 beside that of a plain get",
               cached.percentile_ms(0.999) / plain.percentile_ms(0.999));
  }

  terms how_;
};

}  // namespace
}  // namespace freshness

listed_scene const freshness_scene{"freshness",
                                   "Keep a fleet's keys fresh; how often are they loaded?",
#include "scenes/freshness_help.txt"
                                   , false, made<freshness::played>};

}  // namespace herdlock::lab
