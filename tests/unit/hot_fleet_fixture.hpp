// A fleet whose reports and times are the test's own.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "algo/hot_fleet.hpp"

namespace herdlock::algo {

class HotFleet : public ::testing::Test {
 protected:
  using changes = std::vector<fleet_change>;
  static constexpr auto became_hot = fleet_change::kind::hot;
  static constexpr auto cooled = fleet_change::kind::cooled;

  static fleet_thresholds thresholds() {
    return {.threshold = 1000,
            .reads_per_write = 20,
            .cool_time = std::chrono::seconds(3),
            .silence = std::chrono::seconds(5),
            .most_hot = 3};
  }
  static clock::time_point at(int ms) { return clock::time_point(milliseconds(ms)); }

  fleet_hearing hear(std::uint64_t process, std::vector<fleet_key> keys, int ms,
                     std::uint64_t rest = 0) {
    return fleet.hear({process, ++number, rest, std::move(keys)}, at(ms));
  }
  static fleet_key reads(std::string key, std::uint64_t low, std::uint64_t high = 0) {
    return {std::move(key), low, std::max(low, high), 0, false};
  }
  fleet_sum sum_of(std::string const& key) const {
    for (auto const& one : fleet.top(100)) {
      if (one.key == key) return one;
    }
    return {};
  }

  hot_fleet fleet{thresholds()};
  std::uint64_t number = 0;
};

}  // namespace herdlock::algo
