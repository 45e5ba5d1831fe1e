#include "scenes/near_judge.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "terminal/duration.hpp"

namespace herdlock::cli {
namespace {

double in_ms(std::int64_t ns) { return static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e6; }

}  // namespace

bool stood_still(near_board const& board, near_freeze const& freeze, std::size_t reader,
                 std::int64_t change) {
  if (reader < freeze.first_reader || freeze.from_ns == 0) return false;
  auto const seen = board.seen_at(reader, change);
  if (seen != 0 && seen < freeze.from_ns) return false;
  if (freeze.to_ns == 0) return true;
  // Behind the freeze the connection is as good as new once it has brought something: until then
  // the reader may have to connect again.
  auto const at = board.acknowledged_at(change);
  auto const served_before = board.seen_at(reader, change - 1);
  bool const has_brought_a_change = served_before >= freeze.to_ns && served_before <= at;
  return !has_brought_a_change && board.did_well_at(reader, change) < freeze.to_ns;
}

near_sight sight_of(near_board const& board, std::size_t reader, std::int64_t change) {
  auto const seen = board.seen_at(reader, change);
  return {.seen = seen != 0,
          .after_ms = in_ms(seen - board.acknowledged_at(change)),
          .old_ms = in_ms(board.old_for(reader, change))};
}

double near_figures::share_of_near_hits() const {
  return reads == 0 ? 0.0 : static_cast<double>(near_hits) / static_cast<double>(reads);
}

near_figures count(near_board const& board, near_freeze const& freeze) {
  near_figures all;
  all.changes = board.acknowledged();
  all.failed_writes = board.failed_writes();
  for (std::size_t reader = 0; reader < board.readers(); ++reader) {
    reader_record const& one = board.reader(reader);
    all.reads += one.reads;
    all.near_hits += one.near_hits;
    all.gone += one.gone;
    all.failures += one.failures;
    all.fenced += one.fenced;
    all.stale_fenced += one.stale_fenced;
    for (std::int64_t change = 1; change <= all.changes; ++change) {
      near_sight const sight = sight_of(board, reader, change);
      bool const still = stood_still(board, freeze, reader, change);
      near_figures::sights& into = still ? all.frozen : all.good;
      ++into.pairs;
      into.old_ms = std::max(into.old_ms, sight.old_ms);
      if (sight.seen) into.after_ms = std::max(into.after_ms, sight.after_ms);
      if (!sight.seen) ++into.unseen;
    }
  }
  return all;
}

std::vector<std::string> broken_promises(near_figures const& seen, milliseconds max_staleness) {
  std::vector<std::string> broken;
  double const oldest = std::max(seen.good.old_ms, seen.frozen.old_ms);
  if (oldest > static_cast<double>(max_staleness.count())) {
    broken.push_back(
        fmt::format("an old value was served for {:.1f} ms, more than max_staleness, "
                    "{}",
                    oldest, say(max_staleness)));
  }
  if (seen.stale_fenced > 0) {
    broken.push_back(fmt::format("{} of {} reads behind a fence were older than the fence",
                                 seen.stale_fenced, seen.fenced));
  }
  if (seen.unseen() > 0) {
    broken.push_back(fmt::format("{} times a process was never served a change", seen.unseen()));
  }
  return broken;
}

}  // namespace herdlock::cli
