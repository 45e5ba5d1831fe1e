// What is found out about one way of stopping a leader on one store, and what is promised of it.
#pragma once

#include "scenes/contest.hpp"
#include "stage/counts.hpp"

namespace herdlock::lab {

struct takeover_figures {
  std::string store;  ///< its URL without the password
  leader_stop how{};
  std::vector<double> took_ms{};    ///< from the stop to the first act in the next term
  std::vector<double> thawed_ms{};  ///< freeze: from SIGCONT until the old work has ended
  guarded_thing::findings acts{};   ///< refused: in an older term than one that had acted
  std::string trouble{};            ///< why it could not be measured; empty: it was

  double worst_ms() const { return percentile(took_ms, 1); }
};

/// `longest`: until another leads. It is not promised of a hand-over, which depends on the store's
/// round trip.
inline void judge_takeover(takeover_figures const& of, milliseconds longest, judge& by) {
  auto const what = fmt::format("{}, {}", of.store, name_of(of.how));
  judge_counts({{"overlaps", of.acts.overlaps, "work began while another's ran, {} times"},
                {"refused", of.acts.refused, "{} acts in an older term than one that had acted"}},
               by, what);
  bool const in_time = of.worst_ms() <= static_cast<double>(longest.count());
  by.demand(of.how == leader_stop::graceful || in_time,
            fmt::format("{}: nobody led for {:.1f} ms, longer than the {} ms that are promised",
                        what, of.worst_ms(), longest.count()));
}

}  // namespace herdlock::lab
