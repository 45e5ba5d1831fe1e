// What one mode of the stampede did, its figures and its picture.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenes/stampede_board.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

/// A load and an answer in the picture; milliseconds after the requests were let go.
struct drawn_load {
  double from_ms = 0;
  double to_ms = 0;
  bool killed = false;
};
struct drawn_answer {
  double at_ms = 0;
  bool is_old = false;
};

/// A process that was killed while it loaded; in nanoseconds of the steady clock.
struct killed_loader {
  std::size_t number = 0;
  int id = 0;
  std::int64_t began_ns = 0;
  std::int64_t killed_ns = 0;
};

/// Over all expiries.
struct stampede_outcome {
  explicit stampede_outcome(stampede_orders const& orders) : played(orders) {}

  /// What the board has of the expiry whose requests were let go at `go_ns` of the steady clock.
  void add_expiry(stampede_board& board, std::int64_t go_ns,
                  std::optional<killed_loader> const& killed);

  double percentile_ms(double share) const { return percentile(answered_ms, share); }
  char const* name() const { return played.mode->name; }

  stampede_orders played;
  std::int64_t loads = 0;  ///< as the database counts
  std::int64_t answers = 0;
  std::int64_t stale = 0;           ///< of the answers: the product as it was before
  std::int64_t waited = 0;          ///< requests that waited for a load
  std::int64_t errors = 0;          ///< requests that failed or got a wrong answer
  std::int64_t near_hits = 0;       ///< of requests that came once more
  std::vector<double> answered_ms;  ///< each from when the requests of its process came
  double last_answer_ms = 0;        ///< from when the requests were let go, in the slowest expiry
  std::string first_error;
  std::string note;  ///< empty, or a line to be printed below the table

  /// Of the last expiry, or of the one in which a process was killed. Sorted, and not all.
  std::vector<drawn_answer> drawn_answers;
  std::vector<drawn_load> drawn_loads;
  std::size_t load_count = 0;  ///< as the processes tell it, and the killed load
  std::size_t answer_count = 0;
};

/// Plays the mode that the orders name, with processes of its own. `tell` is called before each
/// expiry, from 1. Throws command_error when it does not come to its end.
stampede_outcome play_mode(stage& on, stampede_orders const& orders, shared_warnings& warnings,
                           std::function<void(int expiry)> const& tell);

/// Each request is to get a right answer.
inline void judge_stampede(stampede_outcome const& outcome, judge& into) {
  into.demand(outcome.errors == 0,
              fmt::format("{}: {} without a right answer; the first: {}", outcome.name(),
                          outcome.errors, outcome.first_error));
}

std::string table_of(std::vector<stampede_outcome> const& all);
json json_of(std::vector<stampede_outcome> const& all);
/// The timelines beside each other. `where` says where the cache is.
std::string picture_of(std::vector<stampede_outcome> const& all, std::string const& where);

}  // namespace herdlock::lab
