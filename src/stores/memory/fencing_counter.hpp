// Fencing tokens of all memory spaces of this process.
#pragma once

#include <atomic>
#include <chrono>
#include <herdlock/types.hpp>

namespace herdlock::memory {

/// Greater at each call, over all resources: no counter per resource is kept, so none can be lost
/// by expiry or pile up. It starts at the wall clock's microseconds, so that a guarded system that
/// outlives the process goes on seeing greater tokens after a restart; the wall clock is not asked
/// again, and decides nothing else.
inline fencing_token next_fencing() {
  using std::chrono::microseconds;
  static std::atomic<std::uint64_t> last{static_cast<std::uint64_t>(
      std::chrono::duration_cast<microseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count())};
  return fencing_token{last.fetch_add(1, std::memory_order_relaxed) + 1};
}

}  // namespace herdlock::memory
