// Numbers of which a few are drawn often and most seldom, as keys are asked for.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace herdlock::lab {

/// From 0 on, number n with the weight (n + 1) ^ -exponent. Any thread may draw, with random bits
/// of its own.
class zipf {
 public:
  zipf(std::size_t numbers, double exponent) : up_to_(numbers) {
    double sum = 0;
    for (std::size_t n = 0; n < numbers; ++n) {
      sum += std::pow(static_cast<double>(n + 1), -exponent);
      up_to_[n] = sum;
    }
  }
  template <class Random>
  std::size_t draw(Random& random) const {
    double const at = std::uniform_real_distribution<>(0, up_to_.back())(random);
    auto const found = std::upper_bound(up_to_.begin(), up_to_.end(), at);
    return std::min(static_cast<std::size_t>(found - up_to_.begin()), up_to_.size() - 1);
  }

 private:
  std::vector<double> up_to_;
};

}  // namespace herdlock::lab
