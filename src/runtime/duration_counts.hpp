// A histogram of durations that one thread writes and others read.
#pragma once

#include <atomic>

#include <herdlock/metrics.hpp>

namespace herdlock::runtime {

/// One thread at a time notes, which needs no locked instruction; any thread reads.
class duration_counts {
 public:
  void note(std::chrono::duration<double> took);
  duration_histogram read() const;

 private:
  std::array<std::atomic<std::uint64_t>, duration_histogram::bounds.size() + 1> counts_{};
  std::atomic<double> sum_{0};
};

}  // namespace herdlock::runtime
