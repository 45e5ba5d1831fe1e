// Exponential back-off with jitter. Pure: the random number is an argument.
#pragma once

#include <algorithm>
#include <chrono>

namespace herdlock::algo {

struct backoff_options {
  std::chrono::microseconds first;
  std::chrono::microseconds most;
};

/// Delays that double from `first` to `most`, each scaled by a random factor in [0.5, 1.5), so that
/// waiters that were turned away together do not come back together (B10).
class backoff {
 public:
  explicit constexpr backoff(backoff_options options) : options_(options), base_(options.first) {}

  /// The next delay. `random` is uniform in [0, 1).
  std::chrono::microseconds next(double random) {
    auto delay = std::chrono::duration_cast<std::chrono::microseconds>(base_ * (0.5 + random));
    base_ = std::min(base_ * 2, options_.most);
    return delay;
  }

  void reset() { base_ = options_.first; }

 private:
  backoff_options options_;
  std::chrono::microseconds base_;
};

}  // namespace herdlock::algo
