// What is counted, named once: for the report, and for the judge.
#pragma once

#include <fmt/format.h>

#include "stage/report.hpp"

namespace herdlock::lab {

struct tally {
  template <class Number>
  tally(std::string_view named, Number const& seen, std::string_view if_any = {})
      : words(named), times(static_cast<std::int64_t>(seen)), broken(if_any) {}

  std::string_view words;
  std::int64_t times;
  /// What is said of it, with `{}` for how often, when it is not 0; empty: it may have happened.
  std::string_view broken;
};
using tallies = std::vector<tally>;

inline void report_counts(tallies const& all, report& into) {
  for (auto const& each : all) into.figure(each.words, each.times);
}

/// `whose` stands in front of each sentence.
inline void judge_counts(tallies const& all, judge& by, std::string const& whose = {}) {
  auto const before = whose.empty() ? "" : whose + ": ";
  for (auto const& each : all) {
    by.demand(each.times == 0 || each.broken.empty(),
              before + fmt::format(fmt::runtime(each.broken), each.times));
  }
}

/// Of what is counted there.
template <class Seen>
void judge_counts(tallies (&counts)(Seen const&), Seen const& seen, judge& by) {
  judge_counts(counts(seen), by);
}

}  // namespace herdlock::lab
