// The one place where tests wait.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

namespace herdlock_test {

/// Long enough for a loaded machine under a sanitizer; a test that passes never waits so long.
inline constexpr std::chrono::milliseconds patience{20'000};

/// Asks `predicate` until it is true or the deadline has passed; its last answer. Polls each
/// millisecond at first, then every 10.
template <class Predicate>
bool eventually(std::chrono::milliseconds deadline, Predicate predicate) {
  using namespace std::chrono;
  auto const end = steady_clock::now() + deadline;
  milliseconds pause{1};
  while (!predicate()) {
    if (steady_clock::now() >= end) return predicate();
    std::this_thread::sleep_for(pause);
    pause = std::min(pause + milliseconds{1}, milliseconds{10});
  }
  return true;
}

template <class Predicate>
bool eventually(Predicate predicate) {
  return eventually(patience, std::move(predicate));
}

}  // namespace herdlock_test
