// Where one thread waits for another, and no longer than a test may take.
#pragma once

#include <condition_variable>
#include <mutex>

#include <support/eventually.hpp>

namespace herdlock_test {

/// Closed at first. Each function from any thread.
class gate {
 public:
  /// For good: whoever waits goes on, and whoever comes later does not wait.
  void open() {
    std::lock_guard const lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

  /// Whether it was opened within `patience`.
  [[nodiscard]] bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

}  // namespace herdlock_test
