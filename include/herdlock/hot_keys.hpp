// The keys that are used most, and those that are hot: counted where they are used, over any texts.
//
//     herdlock::hot_keys keys({.threshold = 1000, .on_hot = pin, .on_cooled = unpin});
//     keys.read("product:42");                          // at each use, from any thread
//     keys.tick();                                      // every 100 ms, from a timer of yours
//     for (auto const& one : keys.top(10)) print(one.key, one.reads_per_second);
//
// hot_keys needs no store and starts no thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

namespace detail {
class hot_keys_core;  // src/local
}

/// Checked by the constructor of hot_keys.
struct hot_keys_options {
  /// Reads a second from which a key is hot. More than 0, up to 1e12; at least min_reads in half a
  /// window, since what was counted before is forgotten.
  double threshold = 1000;
  /// The counts are forgotten half a window at a time. 20 ms to 1 day.
  milliseconds window = std::chrono::seconds(10);
  /// A key is not called hot before it was read so often at the threshold's rate, within half a
  /// window: so a key becomes hot after min_reads ÷ its rate, and a tick, if that is no more than
  /// half a window. 1 to 1,000,000.
  std::uint64_t min_reads = 32;
  /// A key that has fewer reads for each write does not become hot, and one that has fewer than
  /// half of that cools. 0 to 1e9; 0: writes don't matter.
  double reads_per_write = 20;
  /// A hot key does not cool before that. 0 to 365 days.
  milliseconds min_hot_time{0};
  /// Keys that are hot at a time; further ones wait until one has cooled. 1 to 1024.
  std::size_t max_hot = 256;
  /// Told of each change, by tick(), on its thread, without a lock: they may call everything. The
  /// key is cut at hot_keys::kept_bytes: one of that size may be the beginning of another. Their
  /// exceptions are counted and go no further.
  std::function<void(std::string_view key)> on_hot = {};
  std::function<void(std::string_view key)> on_cooled = {};
};

/// A key that is among those used most.
struct hot_key {
  struct bounds {
    std::uint64_t low = 0;   ///< at least; what was counted
    std::uint64_t high = 0;  ///< at most; the end of the numbers: not known
  };

  std::string key;  ///< cut at hot_keys::kept_bytes
  bool hot = false;
  /// Over the window, as of the last tick, by the time that ticks measured; of `reads.low`.
  double reads_per_second = 0;
  bounds reads{};
  bounds writes{};
};

/// Counts of one hot_keys, since it was made, unless said otherwise.
struct hot_keys_stats {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::size_t known = 0;  ///< keys now
  std::size_t hot = 0;    ///< of them
  std::uint64_t became_hot = 0;
  std::uint64_t cooled = 0;
  std::uint64_t refused_hot = 0;       ///< ticks and keys: max_hot were hot already
  std::uint64_t counter_changes = 0;   ///< a key took the counter of another
  std::uint64_t failed_callbacks = 0;  ///< they threw
  std::uint64_t reports_left_out = 0;  ///< for lack of memory, or of room: of ticks and keys
  std::size_t shards = 0;              ///< threads that count apart, now
};

/// Finds the keys that are used most among any number of them, within bounded memory. A handle:
/// cheap to copy, and its copies count together. All members may be called from any thread.
///
/// A thread counts in memory of its own. 256 keys of each thread hold a counter, which is exact
/// from the time on when the key got it; a key takes the counter of another when it is used clearly
/// more. For all others there is an upper bound. So the true number of reads of a key in the window
/// is always within hot_key::reads. (Two keys with the same first 256 bytes, length and seeded
/// 64-bit hash would be one.)
///
/// The window is the half that counts now and the one before: one half to a whole window. A key
/// that is not read any more is cooled, and gone, within two windows, or min_hot_time.
///
/// Memory: some 100 KB for each thread that counts at the same time, for 256 of them at most
/// (further ones share one part, whose lock they wait for), and as much for all together; for keys
/// of 256 bytes some 170 KB. Without memory threads count in the shared part.
///
/// When the last handle goes, also in a callback, no callback is called any more.
class hot_keys {
 public:
  /// Keys are told apart as a whole and kept up to that.
  static constexpr std::size_t kept_bytes = 256;

  /// Throws herdlock::error (errc::invalid_value, which names the option), std::bad_alloc, and what
  /// std::random_device throws: the hash has a seed of its own.
  explicit hot_keys(hot_keys_options options = {});
  hot_keys(hot_keys const&) = default;
  hot_keys& operator=(hot_keys const&) = default;
  ~hot_keys();

  /// The key was read, `times` times. Some 20 to 40 ns for a key that holds a counter. Waits for
  /// nobody, but for a tick or a top() that just looks at this thread's counters: some
  /// microseconds, up to a hundred for a top() of a thousand keys.
  void read(std::string_view key, std::uint64_t times = 1) const noexcept;
  /// The same for writes.
  void wrote(std::string_view key, std::uint64_t times = 1) const noexcept;

  /// Sums up what the threads have counted since the last tick, and calls the callbacks. To be
  /// called at even intervals, at least some times in a window; nothing becomes hot, cools or is
  /// forgotten in between. Rates are by the time that has passed, however late a tick comes. Uses
  /// that were counted before the first tick, or by a clock that went back, have no rate. A tick
  /// that comes while another is under way, as from a callback, does nothing.
  void tick() const;
  /// The same at a time of the caller's own clock, the same one at each tick.
  void tick(clock::time_point now) const;

  /// The `most` keys that were read most in the window, the first one most. At most 1024 keys are
  /// known, as of the last tick. Throws std::bad_alloc.
  std::vector<hot_key> top(std::size_t most) const;

  hot_keys_stats stats() const;

 private:
  std::shared_ptr<detail::hot_keys_core> core_;
};

}  // namespace v0
}  // namespace herdlock
