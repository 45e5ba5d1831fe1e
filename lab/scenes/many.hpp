// Scene `many`: what its cases share, and what is demanded of calls for many keys at once.
#pragma once

#include <fmt/format.h>
#include <semaphore.h>

#include <array>
#include <boost/asio/use_future.hpp>
#include <future>
#include <herdlock/herdlock.hpp>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <support/as_result.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_server.hpp>
#include <vector>

#include "stage/own_server.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab::many {

inline constexpr int most_processes = 64;
inline constexpr int most_keys = 10'000;
/// Read, claim and fill; read, claim, subscribe and look where another loads: docs/guarantees.md.
inline constexpr std::size_t trips_promised = 3, trips_promised_waiting = 4;

struct terms {
  std::string what = "fleet";
  std::string store = "redis";
  std::uint64_t rounds = 10;
  int processes = 8;
  int keys = 100;    // of one call
  int missing = 30;  // of these
  std::uint64_t seed = 0;
  milliseconds deadline{20'000};
  milliseconds latency{30};
};

/// A Redis, or a cluster of three: its nodes.
class server {
 public:
  explicit server(std::string const& kind) {
    if (kind == "redis") {
      redis_ = std::make_unique<herdlock_test::redis_server>();
    } else {
      cluster_ = std::make_unique<herdlock_test::redis_cluster>();
    }
  }
  std::string url() const { return redis_ ? redis_->url() : cluster_->url(); }
  std::size_t nodes() const { return redis_ ? 1 : cluster_->size(); }
  herdlock_test::redis_server& node(std::size_t i) { return redis_ ? *redis_ : cluster_->node(i); }
  bool is_cluster() const { return cluster_ != nullptr; }

 private:
  std::unique_ptr<herdlock_test::redis_server> redis_;
  std::unique_ptr<herdlock_test::redis_cluster> cluster_;
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
inline void put_all(cache<std::string> const& cached, names const& keys) {
  using boost::asio::use_future;
  std::vector<std::future<result<void>>> puts;
  for (auto const& key : keys) {
    puts.push_back(cached.async_put(key, value_of(key), herdlock_test::as_result(use_future)));
  }
  for (auto& put : puts) put.get().value();
}

// ----------------------------------------------------------------------------------- the fleet

struct board {
  using count = std::atomic<std::uint64_t>;

  std::array<sem_t, most_processes> go{};  // the process may begin the round
  std::atomic<int> over{0};                // processes that have ended it
  count round{0};
  // Of the round, by the numbers of the missing keys.
  std::array<std::atomic<std::uint32_t>, most_keys> asked{}, loaded{};
  count needless{0}, wrong{0}, errors{0}, loader_calls{0}, again{0};
  std::atomic<std::int64_t> slowest_ns{0};
};

/// Of all rounds.
struct loads {
  std::uint64_t asked = 0, loaded = 0, crowded = 0, unloaded = 0;
  bool is_over = true;  // each call by its deadline

  /// Takes what the board has of a round.
  void add(board& seen) {
    for (std::size_t i = 0; i < seen.asked.size(); ++i) {
      auto const times = seen.loaded[i].exchange(0);
      bool const is_asked = seen.asked[i].exchange(0) > 0;
      asked += is_asked;
      loaded += times;
      crowded += times > 1;
      unloaded += is_asked && times == 0;
    }
  }
};

inline void judge_fleet(board const& seen, loads const& all, judge& judged) {
  judged.demand(all.is_over, "a call was not over at its deadline");
  judged.demand(all.crowded == 0, "a missing key was loaded more than once in the fleet");
  judged.demand(all.unloaded == 0, "a missing key was never loaded");
  judged.demand(seen.needless == 0, "what was there was loaded");
  judged.demand(seen.again == 0, "the loader of a call was called more than once");
  judged.demand(seen.wrong == 0, "a value was not that of its key");
  judged.demand(seen.errors == 0, "somebody had an error, such as the end of its wait");
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
