#include "local/shard_lock.hpp"

#include <chrono>
#include <thread>

namespace herdlock {
inline namespace v0 {
namespace detail {
namespace {

constexpr int spins = 100;   // a few times the length of a critical section
constexpr int yields = 200;  // then the scheduler is not going to run the holder next to us
constexpr std::chrono::microseconds nap{50};

void relax(int attempt) noexcept {
  if (attempt < spins) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  } else if (attempt < spins + yields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(nap);
  }
}

}  // namespace

void shard_lock::lock_contended() noexcept {
  for (int attempt = 0;; attempt = attempt < spins + yields ? attempt + 1 : attempt) {
    relax(attempt);
    // Look before writing: a read leaves the cache line with the holder.
    if (locked_.load(std::memory_order_relaxed)) continue;
    if (!locked_.exchange(true, std::memory_order_acquire)) return;
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
