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
// while the store is away, the longer of the two does. A try that had no answer may hold the lease:
// who finds it busy by this very process within its ttl rests and asks again, as if the store were
// away.
//
//   the command has ended ─▶ leave, where the store can, else keep, until the grant is old enough:
//                            once_per after success (it is left as done), else min_hold
//
// Who runs once is told by a look that the work is done, also while it waits: so it queues for a
// second at a time.
//
// Pure: no clock, no store; time comes in as an argument.
#pragma once

#include <herdlock/lease.hpp>

namespace herdlock::cli {

/// As the diagram says; 0 is for what was not asked for.
struct run_times {
  milliseconds wait{0};      ///< for another's lease; wait_forever: without a limit
  milliseconds retry{0};     ///< for a store that is away; the same
  milliseconds min_hold{0};  ///< of a lease, at the least
  milliseconds once_per{0};  ///< of a lease that is left as done; not shorter than min_hold
  milliseconds ttl{0};       ///< what a try without an answer may hold
};

struct run_step {
  enum class kind {
    ask,        ///< for the lease, for `wait` at most
    rest,       ///< until `until`; then ask, for what wait_left() says
    give_up,    ///< the last answer stands
    done,       ///< another has done the work already
    leave,      ///< the lease, until its grant is `time` ago, as `how`
    keep,       ///< the lease until `until`; then give it back
    give_back,  ///< the lease, now
  };
  kind what = kind::give_up;
  milliseconds wait{0};
  clock::time_point until{};
  milliseconds time{0};
  left_as how = left_as::held;
};

/// Whether the store may answer later.
enum class trouble { passing, lasting };

/// What a busy lease is; who only knows that it is busy says held.
enum class found { held, held_by_us, done };

/// Whether the store can keep a lease that nobody holds.
enum class after_work { kept, left };

class run_plan {
 public:
  run_plan(run_times times, after_work lease, clock::time_point began);

  /// The store could not answer.
  run_step failed(clock::time_point now, trouble what);
  /// Another holds the lease, or has left it; or a try of ours that had no answer holds it.
  run_step busy(clock::time_point now, found what);
  /// Whether busy() has to know what it is.
  bool wants_a_look(clock::time_point now) const;
  /// How long the next question may queue.
  milliseconds wait_left(clock::time_point now) const;

  /// The command has ended.
  run_step ended(clock::time_point now, clock::time_point granted, int status) const;

 private:
  run_times const times_;
  after_work const lease_;
  run_step rest(clock::time_point now, milliseconds left);

  clock::time_point const began_;
  milliseconds pause_;
  clock::time_point perhaps_ours_until_{};
};

}  // namespace herdlock::cli
