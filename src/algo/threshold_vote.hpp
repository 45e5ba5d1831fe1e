// The options by which a fleet's keys are judged, where its processes have different ones: those
// that most of them have. While a program is replaced by its next version they change once, in the
// middle of it.
//
// Pure. Each process counts once between two counts, however often it reports.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "algo/hot_fleet.hpp"

namespace herdlock::algo {

class threshold_vote {
 public:
  /// The votes for others than so many kinds are not counted.
  static constexpr std::size_t most_kinds = 8;

  void voted(std::uint64_t process, fleet_thresholds const& asked);
  /// The options that most processes have voted for since the last call; the present ones when as
  /// many did for these.
  fleet_thresholds count(fleet_thresholds const& present);

 private:
  struct kind {
    fleet_thresholds asked;
    std::set<std::uint64_t> by{};
  };
  std::vector<kind> kinds_;
};

}  // namespace herdlock::algo
