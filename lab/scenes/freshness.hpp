// Scene `freshness`: what its processes share, and what is demanded of how a fleet keeps values
// fresh.
#pragma once

#include "stage/stage.hpp"

namespace herdlock::lab::freshness {

inline constexpr std::size_t most_generations = 100'000;
/// What a load without the store came to answers in its process for so long: docs/guarantees.md.
inline constexpr milliseconds kept_without_store{250};

struct terms {
  std::string what = "claim";
  std::uint64_t generations = 50;
  int processes = 4;
  int callers = 10;
  int keys = 20;
  milliseconds ttl{500};
  milliseconds load{20};
  milliseconds pause{20};
  double beta = 1;
  milliseconds outage{5000};
  milliseconds first{250};
  milliseconds most{2000};
  milliseconds excess{2000};
};

enum class memory { room, full, room_again };

struct board {
  using count = std::atomic<std::uint64_t>;
  using time = std::atomic<std::int64_t>;  // ns of the steady clock; 0: not yet

  // One key over its generations.
  count generation{0};
  std::array<std::atomic<std::uint32_t>, most_generations> begun{};
  time expires{0}, first_fill{0}, last_fill{0};
  std::atomic<std::int64_t> head_starts_ns{0};  // their sum, at the end of each load
  // An outage of the loader.
  time fails_from{0}, fails_until{0}, first_failed{0}, recovered{0};
  count failed_loads{0};
  // A store that is full.
  std::atomic<memory> store{memory::room};
  std::atomic<bool> refused{false};  // as it was before there was room again
  time full_from{0}, room_from{0}, first_filled{0}, all_filled{0};
  count loads_of_cached{0}, loads_of_missing{0}, errors_of_missing{0};
  std::atomic<std::int64_t> least_gap_ns{0};  // between two loads of a key in a process; 0: none
  std::atomic<int> warm{0};                   // processes that have had each key
  // All cases.
  count calls{0}, waited{0}, stale{0}, errors{0};
  std::atomic<int> ended{0};
  std::atomic<bool> stop{false};
  latencies cached, plain;
};

/// In a process of the fleet, until the board says stop.
void work(terms const& how, board& seen, std::string const& url);

/// A generation lasts from one filling of the entry to the next.
struct generations {
  std::uint64_t count = 0, loads = 0, crowded = 0;
  double head_start_ms = 0;
  double beside_head_start = 0;  // loads, where 1 is what the time and the head start make

  generations(terms const& how, board const& seen) {
    // The first is the herd at the beginning, the last is not over.
    for (std::uint64_t i = 1; i < seen.generation; ++i) {
      ++count;
      loads += seen.begun[i];
      crowded += seen.begun[i] > 1;
    }
    if (count == 0) return;
    head_start_ms = in_ms(seen.head_starts_ns) / count;
    double const each_ms = how.ttl.count() - head_start_ms;
    beside_head_start = loads / (in_ms(seen.last_fill - seen.first_fill) / each_ms);
  }
};

/// How many loads fail in the outage by the back-off, the first at its beginning.
inline int loads_by_back_off(terms const& how, board const& seen) {
  int loads = 0;
  auto pause = how.first;
  auto const span = seen.fails_until - seen.first_failed;
  for (std::int64_t at = 0; at < span; at += in_ns(pause + how.load)) {
    ++loads;
    if (loads > 1) pause = std::min(2 * pause, how.most);
  }
  return loads;
}

inline void judge_generations(terms const& how, board const& seen, judge& by) {
  generations const all(how, seen);
  by.demand(all.crowded == 0, "more than one load began in a generation");
  by.demand(std::abs(all.beside_head_start - 1) <= 0.01,
            "not as many loads as the head start makes of the time");
}

inline void judge_outage(terms const& how, board const& seen, judge& by) {
  auto const failed = static_cast<int>(seen.failed_loads);
  by.demand(std::abs(failed - loads_by_back_off(how, seen)) <= 1,
            "the loads of the outage are not those of the back-off");
  auto const longest = in_ns(how.most) * 11 / 10 + in_ns(how.load + how.excess);
  by.demand(seen.recovered != 0, "nothing was loaded again behind the outage");
  by.demand(seen.recovered - seen.fails_until <= longest, "not recovered within one back-off");
}

inline void judge_full_store(terms const& how, board const& seen, judge& by) {
  by.demand(seen.refused, "the full store has stored something");
  by.demand(seen.loads_of_missing > 0, "nothing that was missing was loaded");
  by.demand(seen.errors_of_missing == 0, "a call for a missing key had an error");
  by.demand(seen.least_gap_ns == 0 || seen.least_gap_ns >= in_ns(kept_without_store),
            "a missing key was loaded twice within 250 ms in one process");
  by.demand(seen.loads_of_cached <= static_cast<std::uint64_t>(how.keys),
            "more loads of cached keys than refreshes can have been under way");
  auto const longest = in_ns(milliseconds(1000) + how.excess);
  by.demand(seen.first_filled != 0 && seen.first_filled - seen.room_from <= longest,
            "fills did not resume within a second");
}

inline void judge_fleet(terms const& how, board const& seen, judge& by) {
  if (how.what == "claim") judge_generations(how, seen, by);
  if (how.what == "outage") judge_outage(how, seen, by);
  if (how.what == "full") judge_full_store(how, seen, by);
  by.demand(how.what == "alone" || seen.waited == 0, "a call waited for a load");
  by.demand(seen.ended == how.processes, "a process has not told its figures");
  by.demand(seen.errors == 0, "a call had an error");
}

}  // namespace herdlock::lab::freshness
