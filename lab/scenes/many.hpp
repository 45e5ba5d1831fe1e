// Scene `many`: what its cases share, and what is demanded of calls for many keys at once.
#pragma once

#include <semaphore.h>

#include <herdlock/herdlock.hpp>
#include <limits>
#include <map>

#include "stage/counts.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab::many {

inline constexpr int most_processes = 64;
inline constexpr int most_keys = 10'000;
/// Read, claim and fill; read, claim, subscribe and look where another loads: docs/guarantees.md.
inline constexpr std::size_t trips_promised = 3, trips_promised_waiting = 4;

struct terms {
  std::string what = "fleet", store = "redis";
  std::uint64_t rounds = 10, seed = 0;
  int processes = 8;
  int keys = 100, missing = 30;  // of one call; of these
  milliseconds deadline{20'000}, latency{30};
};

using names = std::vector<std::string>;
using values = std::map<std::string, std::string>;

inline std::string value_of(std::string const& key) { return "value of " + key; }

inline values values_of(names const& keys) {
  values all;
  for (auto const& key : keys) all[key] = value_of(key);
  return all;
}

/// Together. Throws when one fails.
void put_all(cache<std::string> const& cached, names const& keys);

// ----------------------------------------------------------------------------------- the fleet

struct board {
  using count = std::atomic<std::uint64_t>;

  std::array<sem_t, most_processes> go{};  // the process may begin the round
  std::atomic<int> over{0};                // processes that have ended it
  count round{0};
  // Of the round, by the numbers of the missing keys.
  std::array<std::atomic<std::uint32_t>, most_keys> asked{}, loaded{};
  // Of all rounds.
  count missing{0}, loads{0}, crowded{0}, unloaded{0}, needless{0}, wrong{0}, errors{0};
  count calls{0}, loader_calls{0}, again{0}, late{0};
  std::atomic<std::int64_t> slowest_ns{0};

  void end_round() {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      auto const times = loaded[i].exchange(0);
      bool const is_asked = asked[i].exchange(0) > 0;
      missing += is_asked;
      loads += times;
      crowded += times > 1;
      unloaded += is_asked && times == 0;
    }
  }
};

inline tallies counts(board const& of) {
  return {
      {"rounds", of.round},
      {"rounds that were not over in time", of.late, "a call was not over at its deadline"},
      {"missing keys asked for", of.missing},
      {"loads", of.loads},
      {"loaded more than once", of.crowded, "a missing key was loaded more than once in the fleet"},
      {"never loaded", of.unloaded, "a missing key was never loaded"},
      {"loads of what was there", of.needless, "what was there was loaded"},
      {"wrong values", of.wrong, "a value was not that of its key"},
      {"errors", of.errors, "somebody had an error, such as the end of its wait"},
      {"calls", of.calls},
      {"calls of a loader", of.loader_calls},
      {"of these for a call's second time", of.again,
       "the loader of a call was called more than once"},
  };
}

// --------------------------------------------------------------------------------- round trips

/// Of calls alone in a fleet that is quiet, at the node that has most of them.
struct trips {
  static constexpr auto none = std::numeric_limits<std::size_t>::max();
  std::size_t least = none;
  std::optional<std::size_t> least_waiting;  // before there is only another's load to wait for
  int other_loads = 0;                       // calls whose loader was not called as it should be
  int wrong = 0;                             // values, and errors
};

void play_trips(stage& on, terms const& how);

inline void judge_trips(trips const& seen, judge& judged) {
  judged.demand(seen.least <= trips_promised,
                "read, claim, load, fill: more than three round trips");
  judged.demand(!seen.least_waiting || *seen.least_waiting <= trips_promised_waiting,
                "read, claim, subscribe, look: more than four round trips behind another's load");
  judged.demand(seen.other_loads == 0, "not one call of the loader, or one behind another's load");
  judged.demand(seen.wrong == 0, "a value was not that of its key");
}

}  // namespace herdlock::lab::many
