// What is found out when a lock is taken from one who works while the next one waits, and what is
// promised.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "stage/demand_none.hpp"
#include "stage/programs.hpp"

namespace herdlock::lab {

struct cut_figures {
  std::string name;  ///< of the case: how the lock was taken away
  milliseconds margin{};
  std::vector<double> gaps_ms{};      ///< from the last sign of life to the next one's first
  std::vector<double> outlived_ms{};  ///< how long a command went on without its lock
  std::int64_t never_stopped = 0;     ///< the leader's work
  std::int64_t not_told = 0;          ///< herdlock did not end with 76
  std::int64_t lived_on = 0;          ///< the command, when the next one had begun
  std::int64_t seen_waiting = 0;      ///< the store told that the next one waits

  void take(run_trial::outcome const& of) {
    gaps_ms.push_back(of.gap_ms);
    outlived_ms.push_back(of.outlived_ms);
    not_told += !of.told;
    lived_on += of.lived_on;
    seen_waiting += of.seen_waiting;
  }
  std::int64_t overlaps() const { return fewer_than(1e-9); }
  std::int64_t below_margin() const { return fewer_than(static_cast<double>(margin.count())); }

 private:
  std::int64_t fewer_than(double ms) const {
    return std::count_if(gaps_ms.begin(), gaps_ms.end(), [ms](double gap) { return gap < ms; });
  }
};

struct cut_promises {
  bool one_at_a_time = true;
  bool margin = false;
  double outlived_ms = std::numeric_limits<double>::infinity();
};

inline void judge_cut(cut_figures const& of, cut_promises const& promised, judge& by) {
  auto const none = [&](std::int64_t times, char const* sentence) {
    demand_none(by, times, sentence, of.name);
  };
  if (promised.one_at_a_time) {
    none(of.overlaps(), "the next one began before the other had ended, {} times");
    none(of.lived_on, "the command lived on beside the next one, {} times");
  }
  if (promised.margin)
    none(of.below_margin(), "less than the margin was between the two, {} times");
  none(of.never_stopped, "the leader's work did not stop, {} times");
  none(of.not_told, "herdlock run did not end with 76, {} times");
  none(std::count_if(of.outlived_ms.begin(), of.outlived_ms.end(),
                     [&](double ms) { return ms > promised.outlived_ms; }),
       "a command was at work for longer than is promised without its lock, {} times");
}

}  // namespace herdlock::lab
