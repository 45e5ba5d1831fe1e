// The questions that any thread may ask a lease: is it proved, until when, and why not any more.
#pragma once

#include <atomic>
#include <mutex>
#include <stop_token>
#include <utility>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock::runtime {

/// Changed on the store's executor, read from any thread.
class lease_proof {
 public:
  explicit lease_proof(clock::time_point until) { prove(until); }

  void prove(clock::time_point until) {
    until_.store(until.time_since_epoch().count(), std::memory_order_release);
  }
  /// From any thread: lost, released, or detached.
  void end() { over_.store(true, std::memory_order_release); }
  /// Ends it, and tells whoever listens to the stop token.
  void lose(failure why) {
    end();
    {
      std::lock_guard const guard(mutex_);
      why_ = std::move(why);
    }
    lost_.request_stop();
  }

  clock::time_point until() const {
    return clock::time_point(clock::duration(until_.load(std::memory_order_acquire)));
  }
  bool valid() const { return !over_.load(std::memory_order_acquire) && clock::now() < until(); }
  std::stop_token lost() const { return lost_.get_token(); }
  failure why_lost() const {
    std::lock_guard const guard(mutex_);
    return why_;
  }

 private:
  std::atomic<clock::rep> until_{0};
  std::atomic<bool> over_{false};
  std::stop_source lost_;
  mutable std::mutex mutex_;
  failure why_;
};

}  // namespace herdlock::runtime
