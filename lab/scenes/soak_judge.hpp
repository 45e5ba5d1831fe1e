// What the soak's processes share: the guarded things, and what was seen at them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace herdlock::cli {

/// Lives in memory that all processes map, so it has lock-free atomics only. It knows nothing of
/// leases: whoever enters while somebody is inside is an overlap, whatever either of them holds.
class soak_judge {
 public:
  static constexpr int max_resources = 64;
  using count = std::atomic<std::int64_t>;
  static_assert(count::is_always_lock_free);

  /// In memory shared with the processes that are forked later; lives as long as this process.
  /// Throws command_error (internal) when there is none.
  static soak_judge& in_shared_memory();

  /// One more acquisition is wanted. False: enough.
  bool take_turn() { return turns_left.fetch_sub(1) > 0; }
  void stop() { turns_left.store(0); }

  /// What is done inside the lock on a resource: enter, one increment, leave. A token of 0 is none:
  /// the store does not fence (`?dialect=plain`).
  void guarded_work(int resource, std::uint64_t fencing);
  void enter(int resource, std::uint64_t fencing);
  void leave(int resource);
  /// The first text is kept.
  void complain(std::string_view text);
  std::string_view complaint() const { return {complaint_.data()}; }

  /// All increments that were made inside the locks; one is missing for each that was overwritten.
  std::int64_t guarded_increments() const;

  count turns_left{0};
  count done{0};
  count overlaps{0};
  count fencing_steps_back{0};
  count lost_wake_ups{0};  ///< waits that ended at their limit although the lock was passed on
  count lost_leases{0};    ///< released, but not ours any more
  count failures{0};       ///< of the store
  count longest_wait_us{0};
  count stalls{0};  ///< hand-overs that took longer than a second

  /// From a release to the next grant.
  void note_release(int resource, std::int64_t now_us);
  void note_grant(int resource, std::int64_t now_us, std::int64_t asked_us);

 private:
  struct thing {
    std::atomic<int> inside{0};
    std::atomic<std::uint64_t> last_fencing{0};
    count increments{0};  // read, then written: lost when two are inside
    count released_us{0};
  };
  std::array<thing, max_resources> things_;
  std::atomic<bool> complained_{false};
  std::array<char, 512> complaint_{};
};

}  // namespace herdlock::cli
