// Whether stale entries are kept for as long as their loads take. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// The check of one cache. The usual time of a load is the median of the last ones: a few slow
/// ones, or a few keys that take longer than the others, are no reason to warn.
class stale_grace_check {
 public:
  /// How many of the last loads are looked at.
  static constexpr std::size_t window = 9;
  /// With fewer loads nothing is said.
  static constexpr std::size_t enough = 5;

  /// With a grace of 0 nothing is ever said.
  explicit stale_grace_check(milliseconds grace) : grace_(grace) {}

  /// A load came to its value after so long. Returns the usual time of loads, once, if that is
  /// longer than the grace.
  std::optional<milliseconds> load_took(clock::duration time) {
    if (told_ || grace_ == milliseconds{0}) return std::nullopt;
    last_.at(loads_++ % window) = time;
    if (loads_ < enough) return std::nullopt;
    auto sorted = last_;
    auto const end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(loads_, window));
    auto const middle = sorted.begin() + (end - sorted.begin()) / 2;
    std::nth_element(sorted.begin(), middle, end);
    if (*middle <= grace_) return std::nullopt;
    told_ = true;
    return std::chrono::ceil<milliseconds>(*middle);
  }

 private:
  milliseconds grace_;
  bool told_ = false;
  std::size_t loads_ = 0;
  std::array<clock::duration, window> last_{};
};

}  // namespace herdlock::algo
