// What `near` shows: a line for each change while it is played, and the figures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <herdlock/types.hpp>
#include <string>

#include "scenes/near_judge.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

/// What was asked for.
struct near_plan {
  std::string url;
  std::string shown;  ///< without its password
  int processes = 8;
  int frozen = 0;  ///< so many of them, the last ones; none without a freeze
  milliseconds time{10'000};
  milliseconds freeze{};
  milliseconds max_staleness{1'000};
  milliseconds every{};

  int first_frozen() const { return processes - frozen; }
  milliseconds before_freeze() const { return (time - freeze) * 2 / 5; }
  milliseconds after_freeze() const { return time - freeze - before_freeze(); }
  std::size_t most_changes() const { return static_cast<std::size_t>(time / every + 1); }
};

class near_teller {
 public:
  /// All outlive it.
  near_teller(near_plan const& plan, near_board const& board, stage& on)
      : plan_(plan), board_(board), on_(on) {}

  /// The changes begin.
  void begin();
  /// What the changes look like that have been followed by another since the last call.
  void follow() { tell_up_to(board_.acknowledged() - 1); }
  /// The same for those that nothing has followed yet.
  void catch_up() { tell_up_to(board_.acknowledged()); }
  /// To the frozen connections: `does` of one, `do_` of several.
  void event(char const* does, char const* do_);
  void figures(near_figures const& seen, near_freeze const& freeze);

 private:
  void tell_up_to(std::int64_t change);
  void row(std::int64_t change);
  std::string cell(std::size_t reader, std::int64_t change, std::int64_t now_ns) const;
  std::string line_of_frozen(near_figures::sights const& frozen) const;
  json changes(near_freeze const& freeze) const;

  near_plan const& plan_;
  near_board const& board_;
  stage& on_;
  std::int64_t began_ns_ = 0;
  std::int64_t told_ = 0;  ///< the change whose line was the last one
};

}  // namespace herdlock::lab
