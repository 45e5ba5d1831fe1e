// What came of `near` and `near-soak`, and whether the promises of the near cache were kept.
#pragma once

#include "scenes/near_board.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

/// Whose connections stood still, and when. Times as on the board; 0: it has not come to that.
struct near_freeze {
  std::size_t first_reader = 0;  ///< this one and all behind it
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

/// Whether the reader's connection stood still, or had to be made again behind that, between the
/// change and its being served there. It does well again from the first change on that was served,
/// or the first fence that was answered, before the next change came.
inline bool stood_still(near_board const& board, near_freeze const& freeze, std::size_t reader,
                        std::int64_t change) {
  if (reader < freeze.first_reader || freeze.from_ns == 0) return false;
  auto const& times = board.times(reader, change);
  if (times.seen_ns != 0 && times.seen_ns < freeze.from_ns) return false;
  if (freeze.to_ns == 0) return true;
  // Behind the freeze the connection is as good as new once it has brought something: until then
  // the reader may have to connect again.
  auto const at = board.acknowledged_at(change);
  std::int64_t const served_before = board.times(reader, change - 1).seen_ns;
  bool const has_brought_a_change = served_before >= freeze.to_ns && served_before <= at;
  return !has_brought_a_change && times.did_well_ns < freeze.to_ns;
}

/// What one reader had of one change. Milliseconds from the acknowledgement; never negative.
struct near_sight {
  bool seen = false;
  double after_ms = 0;  ///< until it was served
  double old_ms = 0;    ///< for so long an older one was served
};
inline near_sight sight_of(near_board const& board, std::size_t reader, std::int64_t change) {
  auto const& times = board.times(reader, change);
  return {.seen = times.seen_ns != 0,
          .after_ms = std::max(0.0, in_ms(times.seen_ns - board.acknowledged_at(change))),
          .old_ms = std::max(0.0, in_ms(times.old_ns))};
}

/// Sights of many readers and changes.
struct near_sights {
  std::int64_t pairs = 0;   ///< of a reader and a change
  std::int64_t unseen = 0;  ///< of these: it was never served there
  double after_ms = 0;      ///< the largest of their sights
  double old_ms = 0;

  void add(near_sight const& one) {
    ++pairs;
    old_ms = std::max(old_ms, one.old_ms);
    if (one.seen) after_ms = std::max(after_ms, one.after_ms);
    if (!one.seen) ++unseen;
  }
};

struct near_figures {
  near_figures(near_board const& of, near_freeze const& freeze) : board(of) {
    auto const last = std::min(board.acknowledged(), board.followed());
    for (std::size_t reader = 0; reader < board.readers.size(); ++reader) {
      for (std::int64_t change = 1; change <= last; ++change) {
        near_sights& into = stood_still(board, freeze, reader, change) ? frozen : good;
        into.add(sight_of(board, reader, change));
      }
    }
  }

  std::int64_t unseen() const { return good.unseen + frozen.unseen; }
  double oldest_ms() const {
    std::int64_t most = 0;
    for (near_record const& one : board.readers) most = std::max(most, one.oldest_ns.load());
    return in_ms(most);
  }
  /// Of all reads that were answered; 0 where there were none.
  double share_of_near_hits() const {
    auto const reads = board.sum(&near_record::reads);
    return reads == 0 ? 0.0 : 1.0 * board.sum(&near_record::near_hits) / reads;
  }

  near_board const& board;
  near_sights good;
  near_sights frozen;
};

struct near_promises {
  milliseconds max_staleness{};
  milliseconds excess{0};         ///< that the machine may stand still
  double share_of_near_hits = 0;  ///< with fewer it shows nothing
};

inline void judge_near(near_figures const& seen, near_promises const& promised, judge& into) {
  auto const most = promised.max_staleness + promised.excess;
  auto const excess = promised.excess.count() == 0 ? "" : ", and " + cli::say(promised.excess);
  into.demand(seen.oldest_ms() <= static_cast<double>(most.count()),
              fmt::format("an old value was served for {:.1f} ms, more than max_staleness, {}{}",
                          seen.oldest_ms(), cli::say(promised.max_staleness), excess));
  auto const stale = seen.board.sum(&near_record::stale_fenced);
  into.demand(stale == 0, fmt::format("{} of {} reads behind a fence were older than the fence",
                                      stale, seen.board.sum(&near_record::fenced)));
  into.demand(seen.unseen() == 0,
              fmt::format("{} times a process was never served a change", seen.unseen()));
  into.demand(seen.share_of_near_hits() >= promised.share_of_near_hits,
              fmt::format("near hits {:.1f} % of the reads, fewer than {:.0f} %: it shows nothing",
                          100 * seen.share_of_near_hits(), 100 * promised.share_of_near_hits));
}

}  // namespace herdlock::lab
