// When a key is hot, and when it has cooled: pure, of one key.
//
// Hot, as soon as it is clear: since some tick it has been read at the threshold's rate or above,
// and min_reads times in all. So a burst is told from chance after min_reads ÷ rate and one tick.
//
// Cooled, slowly: for three halves of a window, one after the other, each as a whole was read at
// less than half the threshold's rate, or was written too often. A key that is written often is not
// worth being kept where it is read, and comes back only when it has been calm for three halves. A
// process that keeps the key sees the writes of others, and no other process does: so the key seems
// to be calm as soon as it is not kept any more. If it is soon written too often again it comes
// back after twice that time, and so on, up to 192 halves.
#pragma once

#include <cstdint>

#include <herdlock/types.hpp>

#include "algo/hot_uses.hpp"

namespace herdlock::algo {

struct hot_thresholds {
  double threshold = 0;  ///< reads a second
  std::uint64_t min_reads = 0;
  double reads_per_write = 0;  ///< at least; half of it when it is hot
  clock::duration half{0};     ///< of the window
  clock::duration min_hot_time{0};
};

class hot_key_state {
 public:
  /// The key was used so often in the time since the last tick. A time of zero belongs to the next.
  void used(hot_uses uses, clock::duration took, hot_thresholds const& thresholds) noexcept;
  /// The key was used, and nobody knows in which time.
  void used_at_times_unknown(hot_uses uses) noexcept;

  /// The key is to be made hot.
  bool deserves(hot_thresholds const& thresholds) const noexcept;
  void make_hot() noexcept;
  bool hot() const noexcept { return hot_; }

  /// The half that took this time is over. Returns whether a hot key has cooled by that.
  bool end_half(clock::duration took, hot_thresholds const& thresholds) noexcept;

  /// The uses in this half and the one before.
  hot_uses in_window() const noexcept { return live_.uses + previous_.uses; }
  /// The reads in the window whose times are known.
  std::uint64_t timed_reads() const noexcept {
    return add_up(live_.timed_reads, previous_.timed_reads);
  }

 private:
  struct run {
    std::uint64_t reads = 0;
    clock::duration took{0};
  };
  struct half {
    hot_uses uses{};
    std::uint64_t timed_reads = 0;
  };

  clock::duration next_calm(hot_thresholds const& thresholds) const noexcept;

  bool hot_ = false;
  std::uint8_t doublings_ = 0;  // of the time that it has to be calm when it cools by writes
  run run_{};  // ticks: at each of them the key was read often enough, seen from the first
  half live_{};
  half previous_{};
  clock::duration hot_for_{0};
  clock::duration cool_for_{0};    // of halves that say that it is not hot
  clock::duration calm_after_{0};  // until then it has to be calm: it was written too often
};

}  // namespace herdlock::algo
