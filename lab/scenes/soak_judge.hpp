// What the processes of the soak share, and what is promised of it.
#pragma once

#include "stage/clock.hpp"
#include "stage/counts.hpp"
#include "stage/guarded_thing.hpp"

namespace herdlock::lab {

struct soak_board {
  static constexpr std::size_t max_resources = 64;
  using count = std::atomic<std::int64_t>;

  count turns_left{0};
  count running{0};  ///< threads
  count done{0};
  count lost_wake_ups{0};  ///< waits that ended at their limit although the lock was passed on
  count lost_leases{0};    ///< released, but not ours any more
  count failures{0};       ///< the store could not do it
  count longest_wait_ns{0};
  count stalls{0};  ///< hand-overs that took longer than a second
  std::array<guarded_thing, max_resources> things{};
  std::array<count, max_resources> released_ns{};
  complaint why{};  ///< the first failure

  /// One more acquisition is wanted. False: enough.
  bool take_turn() { return turns_left.fetch_sub(1) > 0; }
  void stop() { turns_left = 0; }

  tallies counts() const {
    auto const seen = seen_by_all(things);
    return {{"hand-overs", done},
            {"overlaps", seen.overlaps, "two were inside at once, {} times"},
            {"lost increments", done - seen.writes, "{} increments were lost"},
            {"fencing steps back", seen.steps_back, "a fencing token did not rise, {} times"},
            {"lost wake-ups", lost_wake_ups,
             "{} waits ended at their limit although the lock was passed on"},
            {"lost leases", lost_leases, "{} leases were lost before their release"},
            {"failures", failures, "the store failed {} times"},
            {"stalls over 1s", stalls}};
  }

  // From a release to the next grant. A resource that lay free while nobody asked has not stalled.
  void note_release(std::size_t resource, std::int64_t now_ns) { released_ns[resource] = now_ns; }
  void note_grant(std::size_t resource, std::int64_t now_ns, std::int64_t asked_ns) {
    std::int64_t const released = released_ns[resource];
    raise_to(longest_wait_ns, now_ns - asked_ns);
    stalls += released != 0 && in_seconds(now_ns - std::max(released, asked_ns)) > 1;
  }
};

inline void judge_soak(soak_board const& board, judge& by) { judge_counts(board.counts(), by); }

}  // namespace herdlock::lab
