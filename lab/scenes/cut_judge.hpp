// What is found out when the store is cut off from a leader alone, and what is promised.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <herdlock/types.hpp>
#include <string>
#include <vector>

#include "stage/report.hpp"

namespace herdlock::lab {

struct cut_figures {
  std::string name;  ///< of the case
  milliseconds margin{};
  std::vector<double> gaps_ms{};  ///< from the leader's last sign of life to the next one's first
  std::vector<double> outlived_ms{};  ///< kill: how long the command outlived herdlock
  std::int64_t never_stopped = 0;     ///< the leader's work
  std::int64_t not_told = 0;          ///< herdlock did not end with 76
  std::int64_t lived_on = 0;          ///< the command, when the next one had begun

  std::int64_t overlaps() const { return fewer_than(1e-9); }
  std::int64_t below_margin() const { return fewer_than(static_cast<double>(margin.count())); }

 private:
  std::int64_t fewer_than(double ms) const {
    return std::count_if(gaps_ms.begin(), gaps_ms.end(), [ms](double gap) { return gap < ms; });
  }
};

enum class margins { are_told, are_promised };

inline void judge_cut(cut_figures const& of, margins how, judge& by) {
  auto const demand = [&](std::int64_t times, char const* what) {
    by.demand(times == 0, fmt::format("{}: {}, {} times", of.name, what, times));
  };
  demand(of.overlaps(), "the next one began before the other had ended");
  if (how == margins::are_promised) {
    demand(of.below_margin(), "less than the margin was between the two");
  }
  demand(of.never_stopped, "the leader's work did not stop");
  demand(of.not_told, "herdlock run did not end with 76");
  demand(of.lived_on, "the command lived on beside the next one");
}

}  // namespace herdlock::lab
