#include "runtime/duration_counts.hpp"

#include <algorithm>

namespace herdlock::runtime {

void duration_counts::note(std::chrono::duration<double> took) {
  auto const& bounds = duration_histogram::bounds;
  auto const at = std::lower_bound(bounds.begin(), bounds.end(), took.count()) - bounds.begin();
  auto& count = counts_.at(static_cast<std::size_t>(at));
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  sum_.store(sum_.load(std::memory_order_relaxed) + took.count(), std::memory_order_relaxed);
}

duration_histogram duration_counts::read() const {
  duration_histogram copy;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    copy.counts.at(i) = counts_.at(i).load(std::memory_order_relaxed);
  }
  copy.sum_seconds = sum_.load(std::memory_order_relaxed);
  return copy;
}

}  // namespace herdlock::runtime
