// Scene `loaders`: what is counted of its calls, and what is demanded of it.
#pragma once

#include "stage/counts.hpp"

namespace herdlock::lab::loaders {

struct board {
  using count = std::atomic<std::uint64_t>;
  count calls{0}, behind{0}, loads{0};
  count ended_in_loader{0}, ended_waiting{0}, values{0}, errors{0};

  tallies counts() const {
    return {{"calls", values + errors},
            {"loads", loads},
            {"loads behind the end of their call", behind,
             "a loader began or ended behind the end of its call"},
            {"calls that ended while their loader ran", ended_in_loader},
            {"calls that ended while they waited", ended_waiting},
            {"values", values},
            {"errors", errors}};
  }
  /// A fifth of them ends like this.
  static bool is_enough(count const& ended, std::uint64_t of_calls) {
    return ended * 5 >= of_calls;
  }
  /// One more call is to be made: as many as are wanted, and until there is enough of both ends.
  bool another(std::uint64_t wanted) {
    auto const so_far = calls.fetch_add(1);
    bool const enough = is_enough(ended_in_loader, wanted) && is_enough(ended_waiting, wanted);
    return so_far < wanted || (!enough && so_far < wanted * 20);
  }
};

inline void judge_calls(std::uint64_t wanted, board const& seen, judge& judged) {
  judge_counts(seen.counts(), judged);
  judged.demand(board::is_enough(seen.ended_in_loader, wanted),
                "too few calls ended while their loader ran");
  judged.demand(board::is_enough(seen.ended_waiting, wanted),
                "too few calls ended while they waited");
}

}  // namespace herdlock::lab::loaders
