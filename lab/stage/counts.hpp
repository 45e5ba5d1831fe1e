// Counts on a board, each of which is named once: for the report, and for the judge.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "stage/report.hpp"

namespace herdlock::lab {

template <class Board>
struct count_of {
  std::string_view words;
  std::atomic<std::uint64_t> Board::*number;
  char const* broken = nullptr;  ///< what is said of it when it is not 0; nullptr: it may be
};

template <class Counts, class Board>
void report_counts(Counts const& all, Board const& seen, report& into) {
  for (auto const& each : all) into.figure(each.words, (seen.*each.number).load());
}

template <class Counts, class Board>
void judge_counts(Counts const& all, Board const& seen, judge& by) {
  for (auto const& each : all) {
    if (each.broken) by.demand(seen.*each.number == 0, each.broken);
  }
}

}  // namespace herdlock::lab
