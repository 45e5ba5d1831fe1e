// How often something took how long, in memory that processes may share.
#pragma once

#include <cmath>
#include <vector>

#include "stage/shared.hpp"

namespace herdlock::lab {

/// Eight bins for each doubling of the time, so a percentile is right within a tenth.
namespace latency_bins {
inline constexpr std::size_t size = 240;
inline constexpr double shortest_ns = 64;
inline constexpr double of_a_doubling = 8;

inline std::size_t of(std::int64_t ns) {
  auto const time = std::max(static_cast<double>(ns), shortest_ns);
  auto const bin = std::ceil(of_a_doubling * std::log2(time / shortest_ns));
  return std::min(static_cast<std::size_t>(bin), size - 1);
}
/// The longest time of the bin.
inline double upper_ns(std::size_t bin) {
  return shortest_ns * std::exp2(static_cast<double>(bin) / of_a_doubling);
}
}  // namespace latency_bins

/// Any thread of any process notes; who sums may do so meanwhile.
class latencies {
 public:
  void note(std::int64_t ns) {
    took_[latency_bins::of(ns)].fetch_add(1, std::memory_order_relaxed);
    raise_to(slowest_ns_, ns);
  }

 private:
  friend class latency_sum;

  std::array<std::atomic<std::uint32_t>, latency_bins::size> took_{};
  std::atomic<std::int64_t> slowest_ns_{0};
};

/// What some of them come to together.
class latency_sum {
 public:
  void add(latencies const& more) {
    for (std::size_t bin = 0; bin < took_.size(); ++bin) {
      auto const count = more.took_[bin].load(std::memory_order_relaxed);
      took_[bin] += count;
      count_ += count;
    }
    slowest_ns_ = std::max(slowest_ns_, more.slowest_ns_.load());
  }
  std::uint64_t count() const { return count_; }
  double slowest_ms() const { return static_cast<double>(slowest_ns_) / 1e6; }

  /// Nearest rank, and no more than the slowest; 0 when there is none. `share` from 0 to 1.
  double percentile_ms(double share) const {
    auto const rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
    std::uint64_t so_far = 0;
    for (std::size_t bin = 0; bin < took_.size(); ++bin) {
      so_far += took_[bin];
      if (so_far >= rank && so_far > 0) {
        return std::min(latency_bins::upper_ns(bin) / 1e6, slowest_ms());
      }
    }
    return slowest_ms();
  }

 private:
  std::array<std::uint64_t, latency_bins::size> took_{};
  std::uint64_t count_ = 0;
  std::int64_t slowest_ns_ = 0;
};

/// Nearest rank of exact figures; 0 when there are none.
inline double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  auto const rank = std::ceil(share * static_cast<double>(values.size())) - 1;
  auto const at = values.begin() + static_cast<std::ptrdiff_t>(std::max(0.0, rank));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace herdlock::lab
