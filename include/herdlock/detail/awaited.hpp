// A value that one thread waits for, and another one brings.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// T: a pointer, or something like one.
template <class T>
class awaited {
 public:
  /// Notified under the mutex: the moment it is free, the other thread may be gone, and this object
  /// with it.
  void bring(T value) {
    std::lock_guard const hold(mutex_);
    value_ = std::move(value);
    there_.notify_one();
  }

  /// Null when the deadline passed first. Looks up from its sleep now and then: the clock of the
  /// condition variable stands still in a suspended machine, ours does not.
  T wait(std::optional<clock::time_point> deadline = std::nullopt) {
    constexpr clock::duration nap = std::chrono::seconds(10);
    std::unique_lock hold(mutex_);
    if (!deadline) there_.wait(hold, [this] { return value_ != nullptr; });
    while (!value_) {
      auto const left = *deadline - clock::now();
      if (left <= clock::duration::zero()) return nullptr;
      there_.wait_for(hold, std::min(left, nap));
    }
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable there_;
  T value_{};
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
