// The way back onto an executor for what may outlive it.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <mutex>
#include <utility>

#include "types/process_bound.hpp"

namespace herdlock::runtime {

/// For what may outlive the cache (a loader, a cancellation signal): shut before the store goes,
/// since the executor is not to be touched after that. It is shut in a child of fork(), too. Any
/// thread.
class posting_gate : public detail::process_bound {
 public:
  explicit posting_gate(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// Returns false, and leaves the work alone, once it is shut. Whatever was done before it was
  /// shut is seen by then.
  template <class Work>
  bool post(Work& work) {
    if (inherited()) return false;
    std::lock_guard const lock(mutex_);
    if (!executor_) return false;
    asio::post(executor_, std::move(work));
    return true;
  }

  void shut() {
    std::lock_guard const lock(mutex_);
    executor_ = {};
  }

 private:
  std::mutex mutex_;
  asio::any_io_executor executor_;  // none once it is shut
};

}  // namespace herdlock::runtime
