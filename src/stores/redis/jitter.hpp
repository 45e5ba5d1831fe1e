// A random part of a pause, so that many who failed together do not come back together.
#pragma once

#include <random>

#include <herdlock/types.hpp>

namespace herdlock::redis {

/// From half of `longest` to all of it.
inline milliseconds jittered(milliseconds longest) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  std::uniform_int_distribution<milliseconds::rep> pick(longest.count() / 2, longest.count());
  return milliseconds(pick(random));
}

}  // namespace herdlock::redis
