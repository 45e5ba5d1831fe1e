// Errands that one store has under way at another, so that closing can wait for them.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

#include <herdlock/types.hpp>

namespace herdlock::runtime {

/// From any thread.
class task_tracker : public std::enable_shared_from_this<task_tracker> {
 public:
  /// The task lasts as long as what is returned.
  std::shared_ptr<void> begin() {
    std::lock_guard const lock(mutex_);
    ++under_way_;
    return std::shared_ptr<void>(nullptr, [self = shared_from_this()](std::nullptr_t) {
      std::lock_guard const inner(self->mutex_);
      if (--self->under_way_ == 0) self->idle_.notify_all();
    });
  }

  /// Blocks until nothing is under way, `at_most` so long.
  void wait_idle(milliseconds at_most) {
    std::unique_lock lock(mutex_);
    idle_.wait_for(lock, at_most, [this] { return under_way_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t under_way_ = 0;
};

}  // namespace herdlock::runtime
