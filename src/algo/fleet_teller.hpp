// When a process reports to its fleet, and what it names: pure.
//
// Each `interval` while there is something to name, or was; and at once when a key has become hot
// or has cooled, but not before least_gap has passed since the last report. So there are at most
// ten in a second.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/fleet_report.hpp"

namespace herdlock::algo {

class fleet_teller {
 public:
  static constexpr milliseconds interval{1000};
  static constexpr milliseconds least_gap{100};

  /// `process`: a random number.
  explicit fleet_teller(std::uint64_t process) noexcept : process_(process) {}

  /// What is to be sent now. `known`: of this process, in any order; `uncounted`: the reads a
  /// second, at most, of a key that is not among them; `least`: hot_fleet::least_to_name().
  std::optional<fleet_report> report(std::vector<fleet_key> known, std::uint64_t uncounted,
                                     std::uint64_t least, clock::time_point now);

 private:
  bool is_due(std::vector<fleet_key> const& named, clock::time_point now) const;
  bool is_news(std::vector<fleet_key> const& named) const;

  std::uint64_t const process_;
  std::uint64_t number_ = 0;
  std::optional<clock::time_point> last_;
  bool has_named_ = false;          // in the last report
  std::set<std::string> told_hot_;  // in the last report, and hot since then
  bool has_cooled_ = false;         // one of them, since the last report
};

}  // namespace herdlock::algo
