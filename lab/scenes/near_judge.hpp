// What came of `herdlock demo near`, and whether the promises of the near cache were kept.
#pragma once

#include <cstdint>
#include <herdlock/types.hpp>
#include <string>
#include <vector>

#include "scenes/near_board.hpp"

namespace herdlock::cli {

/// Whose connections stood still, and when. Times as on the board; 0: it has not come to that.
struct near_freeze {
  std::size_t first_reader = 0;  ///< this one and all behind it
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

/// Whether the reader's connection stood still, or had to be made again behind that, between the
/// change and its being served there. It does well again from the first change on that was served,
/// or the first fence that was answered, before the next change came.
bool stood_still(near_board const& board, near_freeze const& freeze, std::size_t reader,
                 std::int64_t change);

/// What one reader had of one change. Milliseconds from the acknowledgement; never negative.
struct near_sight {
  bool seen = false;
  double after_ms = 0;  ///< until it was served
  double old_ms = 0;    ///< for so long an older one was served
};
near_sight sight_of(near_board const& board, std::size_t reader, std::int64_t change);

struct near_figures {
  struct sights {
    std::int64_t pairs = 0;   ///< of a reader and a change
    std::int64_t unseen = 0;  ///< of these: it was never served there
    double after_ms = 0;      ///< the largest of their sights
    double old_ms = 0;

    bool any_seen() const { return pairs > unseen; }
  };

  std::int64_t changes = 0;
  std::int64_t reads = 0;
  std::int64_t near_hits = 0;
  std::int64_t gone = 0;
  std::int64_t failures = 0;
  std::int64_t failed_writes = 0;
  std::int64_t fenced = 0;
  std::int64_t stale_fenced = 0;
  sights good;
  sights frozen;

  std::int64_t unseen() const { return good.unseen + frozen.unseen; }
  /// Of all reads that were answered; 0 where there were none.
  double share_of_near_hits() const;
};
near_figures count(near_board const& board, near_freeze const& freeze);

/// A sentence for each promise that was broken.
std::vector<std::string> broken_promises(near_figures const& seen, milliseconds max_staleness);

}  // namespace herdlock::cli
