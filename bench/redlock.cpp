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

using namespace bench;

constexpr std::size_t steps = 128;  // of one round

void measure_redlock(report& to) {
  auto nodes = started<herdlock_test::redis_nodes>(5);
  auto hanging = started<herdlock_test::redis_nodes>(5);
  // All share it: one that stands still while others are measured would find that its servers have
  // not answered the connections' own PINGs.
  event_loop loop;
  auto const round_of = [&loop](store_taker& one) {
    double nanoseconds = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      nanoseconds += nanoseconds_of([&] { one.take(); });
      one.give_back();
      loop.run_for(std::chrono::microseconds(300));  // what is left for nodes that answer later
    }
    return nanoseconds / 1000 / steps;
  };
  store_taker five(loop, &herdlock::open_redlock, nodes.url());
  store_taker one(loop, &herdlock::open_redis, nodes[0].url());
  store_taker three(loop, &herdlock::open_redlock, hanging.url());
  for (auto* const each : {&five, &one, &three}) round_of(*each);  // warm
  to.compare_by(round_of, "redlock.acquire", "us", five, one, at_most(2));
  for (auto const which : {1, 3}) hanging[which].pause();
  to.compare_by(round_of, "redlock.acquire_with_two_hanging", "us", three, five, at_most(2));
  for (auto const which : {1, 3}) hanging[which].resume();
}

suite const redlock_suite("redlock", &measure_redlock);

}  // namespace
