// Randomness that spreads what would else happen everywhere at once (B10). Not for secrets.
#pragma once

#include <random>

#include <herdlock/types.hpp>

namespace herdlock::redis {

/// From any thread: each has its own.
inline std::minstd_rand& random_source() {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return random;
}

/// Uniform in [0, 1).
inline double random_part() {
  return std::uniform_real_distribution<double>(0, 1)(random_source());
}

/// Between half of it and all.
inline milliseconds jittered(milliseconds longest) {
  auto const half = static_cast<double>(longest.count()) / 2;
  return milliseconds(static_cast<milliseconds::rep>(half + half * random_part()));
}

}  // namespace herdlock::redis
