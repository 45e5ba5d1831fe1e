// What is found out when the session behind a command's lock ends, and what is promised.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>

#include "stage/clock.hpp"
#include "stage/report.hpp"

namespace herdlock::lab {

struct session_figures {
  std::string way;  ///< how the sessions ended
  std::int64_t rounds = 0;
  std::int64_t told = 0;          ///< commands that ended with 76
  std::int64_t seen_waiting = 0;  ///< the store told that the next one waits
  std::int64_t overlaps = 0;
  std::int64_t gone_ns = 0;  ///< at most, from the end of the session to that of the command
  /// At most how long two were at work; below 0: for so long nobody was, at least.
  std::int64_t overlap_ns = std::numeric_limits<std::int64_t>::min();
};

enum class session_grace { none, given };

inline void judge_session(session_figures const& of, session_grace grace, judge& by) {
  by.demand(of.told == of.rounds, fmt::format("{}: {} of {} commands did not end with 76", of.way,
                                              of.rounds - of.told, of.rounds));
  by.demand(of.gone_ns <= in_ns(milliseconds(1'000)),
            fmt::format("{}: a command was at work {:.3f} s after its session, longer than a "
                        "second",
                        of.way, in_seconds(of.gone_ns)));
  by.demand(grace == session_grace::none || of.overlaps == 0,
            fmt::format("{}: with a grace two were at work at once, {} times, for {:.3f} s at most",
                        of.way, of.overlaps, in_seconds(of.overlap_ns)));
}

}  // namespace herdlock::lab
