// The lock of one shard: held for some tens of nanoseconds, never across user code or a wait.
//
// Its unlock is a plain store, half the price of a mutex's; the price is that nobody can be parked
// on it. So a thread that does not get it spins a bounded number of times (the holder is at work on
// another core), then yields, then sleeps a little (the holder was preempted, and may have a lower
// priority than we).
#pragma once

#include <atomic>

namespace herdlock {
inline namespace v0 {
namespace detail {

class shard_lock {
 public:
  void lock() noexcept {
    if (locked_.exchange(true, std::memory_order_acquire)) lock_contended();
  }
  bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  void lock_contended() noexcept;

  std::atomic<bool> locked_{false};
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
