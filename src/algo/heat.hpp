// When a key is hot, when it has cooled, and when it may be hot again: one rule for a thread, a
// process and a fleet, which differ in what they count and for how long they look.
//
// - A key is hot from the threshold on, if it has reads enough for each of its writes.
// - A hot key has cooled when it was read at less than half of the threshold for cool_time, or was
//   written too often for so long; then half of the reads for each write are enough.
// - A key that cooled by its writes has to be calm for calm_time before it is hot again. Whoever
//   keeps a key is told of the writes of others, and nobody else is: such a key seems to be calm as
//   soon as nobody keeps it. So calm_time is doubled each time that it soon cools by its writes
//   again, up to 64 times. A key that was worth being hot, or was calm for long, begins anew.
//
// Pure: whoever looks says how much time has passed.
#pragma once

#include <cstdint>

#include <herdlock/types.hpp>

#include "algo/hot_uses.hpp"

namespace herdlock::algo {

struct heat_limits {
  double threshold = 0;  ///< reads a second
  double reads_per_write = 0;
  clock::duration cool_time{0};
  clock::duration calm_time{0};
  clock::duration min_hot_time{0};

  /// `share`: 1 for what makes a key hot, a half for what keeps it hot.
  bool is_read_enough(double reads, double seconds, double share) const noexcept {
    return reads >= threshold * share * seconds;
  }
  bool is_written_too_often(hot_uses uses, double share) const noexcept {
    return double(uses.reads) < double(uses.writes) * reads_per_write * share;
  }
};

/// A look at a key that is hot: how far its uses are below half of what makes a key hot.
struct heat_look {
  bool hardly_read = false;
  bool written_too_often = false;

  bool is_low() const noexcept { return hardly_read || written_too_often; }
};

/// The times of a look.
struct heat_times {
  clock::duration took{0};     ///< since the look before
  clock::duration low_for{0};  ///< of that, the time for which the key was as it is seen now
  clock::duration hot_for{0};  ///< since it became hot
};

class heat {
 public:
  bool hot() const noexcept { return hot_; }
  bool may_be_hot() const noexcept { return !hot_ && calm_left_ <= clock::duration(0); }
  void make_hot(heat_limits const& limits) noexcept;
  /// It was hot for somebody else, and cools at the next look that finds it low.
  void take_over_hot(heat_limits const& limits) noexcept;

  /// To be called for hot keys, and for others that remembers_writes(). Returns whether a hot key
  /// has been low for long enough to cool.
  bool look(heat_look seen, heat_times times, heat_limits const& limits) noexcept;
  void cool(heat_look seen, heat_times times, heat_limits const& limits) noexcept;

  bool remembers_writes() const noexcept { return doublings_ > 0; }
  /// Until it may be hot again. Less than zero: it was calm for so long behind that.
  clock::duration calm_left() const noexcept { return calm_left_; }

 private:
  clock::duration next_calm(heat_limits const& limits) const noexcept;

  bool hot_ = false;
  std::uint8_t doublings_ = 0;
  clock::duration low_for_{0};
  clock::duration calm_left_{0};
};

}  // namespace herdlock::algo
