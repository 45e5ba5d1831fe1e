// The judge of `tags`.
#pragma once

#include "stage/counts.hpp"

namespace herdlock::lab {

/// One end of a tag that all entries have.
struct tags_round {
  std::int64_t entries = 0;
  std::int64_t loaded = 0;
  std::int64_t kept = 0;            ///< read from the process before the end
  std::int64_t keys = 0;            ///< in the server, for the tag
  std::int64_t bytes = 0;           ///< of the tag's record
  std::int64_t scripts = 0;         ///< that the end of the tag was
  std::int64_t steps = 0;           ///< commands in the server, those in the scripts, too
  std::int64_t stale_kept = 0;      ///< read from the process behind the fence
  std::int64_t stale_in_store = 0;  ///< read from the store behind the fence
};

inline void judge_tags(tags_round const& seen, judge& into) {
  into.demand(seen.loaded == seen.entries,
              fmt::format("{} of {} entries were loaded", seen.loaded, seen.entries));
  into.demand(
      seen.kept >= seen.entries / 10 * 9,
      fmt::format("only {} of {} entries were kept: it shows nothing", seen.kept, seen.entries));
  into.demand(
      seen.keys == 2,
      fmt::format("the tag has {} keys, not its record and the counter of that", seen.keys));
  into.demand(
      seen.bytes < 400,
      fmt::format("the tag's record has {} bytes: does it grow with its entries?", seen.bytes));
  into.demand(seen.scripts == 1 && seen.steps <= 10,
              fmt::format("the end of the tag was {} scripts of {} steps, not one of 10 at most",
                          seen.scripts, seen.steps));
  judge_counts(
      {{"kept", seen.stale_kept, "{} entries that were kept were served behind the fence"},
       {"stored", seen.stale_in_store, "{} entries that were stored were served behind the fence"}},
      into);
}

}  // namespace herdlock::lab
