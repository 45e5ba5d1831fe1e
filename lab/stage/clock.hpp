// Time as all processes of a scene see it.
#pragma once

#include <algorithm>
#include <herdlock/types.hpp>
#include <thread>

namespace herdlock::lab {

/// Nanoseconds of the steady clock, which all processes of a machine share.
inline std::int64_t steady_ns() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline std::int64_t in_ns(milliseconds time) { return std::chrono::nanoseconds(time).count(); }
inline double in_ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }
inline double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

/// Sleeps for a millisecond.
inline void nap() { std::this_thread::sleep_for(milliseconds(1)); }

/// Looks again and again, and naps in between; false when the condition has not held for so long.
template <class Condition, class Nap = void (*)()>
bool wait_until(milliseconds longest, Condition holds, Nap between = &nap) {
  auto const end = steady_ns() + in_ns(longest);
  for (; !holds(); between()) {
    if (steady_ns() > end) return false;
  }
  return true;
}

/// Calls that come at even times, whatever each of them takes. One thread uses it.
class pace {
 public:
  pace(std::int64_t from_ns, double per_second) : from_ns_(from_ns), gap_ns_(1e9 / per_second) {}

  /// When the next call is due.
  std::int64_t due() const {
    return from_ns_ + static_cast<std::int64_t>(gap_ns_ * static_cast<double>(next_));
  }
  /// The next call has been made, or left out.
  void go_on() { ++next_; }

  /// Sleeps until the call is due. Since when it is there: how late a sleep ends says nothing of
  /// what is called.
  std::int64_t await() {
    auto const now = steady_ns();
    if (now < due()) {
      // Fewer wake-ups, less work: who slept this long has several calls to make.
      auto const nap = std::max<std::int64_t>(due() - now, 1'000'000);
      std::this_thread::sleep_for(std::chrono::nanoseconds(nap));
      woke_ns_ = steady_ns();
    }
    return std::max(due(), woke_ns_);
  }

 private:
  std::int64_t const from_ns_;
  double const gap_ns_;
  std::int64_t woke_ns_ = 0;
  std::int64_t next_ = 0;
};

}  // namespace herdlock::lab
