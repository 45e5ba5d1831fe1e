// An acquisition over five nodes beside one at a single server, and with two of the five hanging
// beside the same with all of them. What is timed is the acquisition alone: the release that
// follows it is waited for at every node, on both sides.
//
// HERDLOCK_BENCH_PIN=1 keeps the servers on CPU 0 and the client on CPU 1.
#include <support/redis_nodes.hpp>

#include "contenders.hpp"
#include "stores/redis/redis_store.hpp"
#include "stores/redis/redlock/redlock_store.hpp"

namespace {

constexpr std::size_t steps = 128;  // of one round

void measure_redlock(bench::report& report) {
  auto nodes = bench::started<herdlock_test::redis_nodes>(5);
  auto hanging = bench::started<herdlock_test::redis_nodes>(5);
  // All share it: one that stands still while others are measured would find that its servers have
  // not answered the connections' own PINGs.
  bench::event_loop loop;
  auto const round_of = [&](bench::store_taker& one, std::size_t acquisitions) {
    double nanoseconds = 0;
    for (std::size_t i = 0; i < acquisitions; ++i) {
      nanoseconds += bench::nanoseconds_of([&] { one.take(); });
      one.give_back();
      loop.run_for(std::chrono::microseconds(300));  // what is left for nodes that answer later
    }
    return nanoseconds / 1000 / static_cast<double>(acquisitions);
  };
  auto const compare = [&](char const* name, bench::store_taker& subject,
                           bench::store_taker& baseline) {
    report.compare(
        name, "us", [&] { return round_of(subject, steps); },
        [&] { return round_of(baseline, steps); }, bench::at_most(2));
  };
  bench::store_taker five(loop, &herdlock::open_redlock, nodes.url());
  bench::store_taker one(loop, &herdlock::open_redis, nodes[0].url());
  bench::store_taker three(loop, &herdlock::open_redlock, hanging.url());
  for (auto* const each : {&five, &one, &three}) round_of(*each, 50);  // warm
  compare("redlock.acquire", five, one);
  hanging[1].pause();
  hanging[3].pause();
  compare("redlock.acquire_with_two_hanging", three, five);
  hanging[1].resume();
  hanging[3].resume();
}

bench::suite const redlock_suite("redlock", &measure_redlock);

}  // namespace
