// What `herdlock run` does next: before its command, and after it.
//
//             failed, may pass             busy, time is left
//   ask ◀──────── rest ◀──────────┐   ┌──────────────────────▶ ask, in the queue
//                                 ask
//                    failed, or   │   │ busy, the wait is over
//                 the time is over▼   ▼
//                              give_up (69, 75)
//
// `wait` and `retry` both begin with the first look. While another holds the lease, `wait` counts;
// while the store is away, the longer of the two does.
//
//   the command has ended ─▶ keep until the grant's age is min_hold ─▶ give_back
//
// Pure: no clock, no store; time comes in as an argument.
#pragma once

#include <herdlock/types.hpp>

namespace herdlock::cli {

/// 0 is for what was not asked for.
struct run_times {
  milliseconds wait{0};   ///< for another's lease; wait_forever: without a limit
  milliseconds retry{0};  ///< for a store that is away; the same
  milliseconds min_hold{0};
};

struct run_step {
  enum class kind {
    ask,        ///< for the lease, for `wait` at most
    rest,       ///< until `until`; then ask, for what wait_left() says
    give_up,    ///< the last answer stands
    keep,       ///< the lease until `until`; then give it back
    give_back,  ///< the lease, now
  };
  kind what = kind::give_up;
  milliseconds wait{0};
  clock::time_point until{};
};

class run_plan {
 public:
  run_plan(run_times times, clock::time_point began);

  /// The store could not answer. `passes`: it may do so later.
  run_step failed(clock::time_point now, bool passes);
  /// Another holds the lease.
  run_step busy(clock::time_point now);
  /// How long the next question may queue.
  milliseconds wait_left(clock::time_point now) const;

  /// The command has ended.
  run_step ended(clock::time_point now, clock::time_point granted) const;

 private:
  run_times const times_;
  clock::time_point const began_;
  milliseconds pause_;
};

}  // namespace herdlock::cli
