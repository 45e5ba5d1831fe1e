// When a key is hot in a thread or a process (algo/heat.hpp), by what is counted there: pure, of
// one key.
//
// Hot, as soon as it is clear: since some tick it has been read at the threshold's rate or above,
// and min_reads times in all. So a burst is told from chance after min_reads ÷ rate and one tick.
//
// Cooled, slowly: for three halves of a window, one after the other, each as a whole was read at
// less than half the threshold's rate, or was written too often. One that cooled by its writes has
// to be calm for three halves at first.
#pragma once

#include <cstdint>

#include <herdlock/types.hpp>

#include "algo/heat.hpp"
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

  /// It is to be made hot.
  bool deserves(hot_thresholds const& thresholds) const noexcept;
  void make_hot(hot_thresholds const& thresholds) noexcept;
  bool hot() const noexcept { return heat_.hot(); }

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

  heat heat_;
  run run_{};  // of ticks: at each of them it was read often enough, seen from the first
  half live_{};
  half previous_{};
  clock::duration hot_for_{0};  // by ticks
};

}  // namespace herdlock::algo
