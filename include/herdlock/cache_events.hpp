// Events of a cache, for an observer of the program's: what came of calls, loads and kept values.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// A call is one of the first four, but for load_now; a miss that is then given a stale value is
/// `stale` as well.
enum class cache_outcome {
  hit,             ///< answered by the first read, also by a negative entry
  near_hit,        ///< answered by what this process keeps
  stale,           ///< answered by a stale entry: at once, after a soft timeout, or for an error
  miss,            ///< there was no answer at once
  loaded,          ///< a loader came to a value, or to "no such thing"
  failed,          ///< a loader threw, or was destroyed
  refresh_failed,  ///< the same of a load behind an answer
  evicted,         ///< a kept value has made room for another
};

struct cache_event {
  cache_outcome what = cache_outcome::hit;
  std::string key = {};  ///< without the prefix
  clock::time_point at{};
  milliseconds took{0};    ///< of loads: how long the loader ran
  std::string error = {};  ///< of loads that failed: what the loader threw
};

/// An observer that may throw and block, and harms nobody: what it throws is dropped, and while it
/// blocks events wait, and are dropped and counted beyond a bound (cache_stats::events_dropped).
struct observer_options {
  /// Called for each event, one at a time and in their order, on a thread of the cache's that has
  /// the signal mask of the one that makes the cache. It has to own what it uses, but not the
  /// cache. The last handle waits for the call that runs, but not inside of it, nor where the store
  /// runs on an executor of yours; events that wait by then are dropped. Nothing: there is no
  /// thread, and no event is made. With one each near hit costs a lock and a copy of its key.
  std::function<void(cache_event const&)> call = {};
  /// The events that wait for it; 1 or more.
  std::size_t max_waiting = 10'000;
};

}  // namespace v0
}  // namespace herdlock
