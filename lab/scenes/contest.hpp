// Candidates for one job, each a process, and the one that leads is stopped.
#pragma once

#include <array>
#include <functional>
#include <herdlock/types.hpp>
#include <optional>
#include <string>
#include <vector>

#include "scenes/contest_board.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

struct candidacy {
  std::string url;
  resource name;
  milliseconds ttl;
  std::string first_url{};  ///< of the first candidate, if it is another one
};

/// `all` for each of them, in this order.
std::vector<leader_stop> chosen_stops(std::string const& text, std::vector<leader_stop> all);

/// Each candidate stands as long as it may. Its work acts once in a millisecond, and asks the term
/// before each act.
class contest {
 public:
  struct happening {
    std::int64_t at_ns;
    int who;
    contest_word word;
    std::uint64_t term;
    std::string why;  ///< of trouble; how, of a stop
  };
  struct change {
    leader_stop how;
    int from;
    int to;
    double took_ms;  ///< from the stop to the next one's first act
  };

  /// `tell` hears what happens, in order, while something is waited for. All that waits here throws
  /// command_error (unavailable) when it does not come about: soon where the store has gone away.
  contest(
      stage& on, contest_board& board, candidacy as, int candidates,
      std::function<void(happening const&)> tell = [](auto const&) {});
  contest(contest const&) = delete;
  contest& operator=(contest const&) = delete;
  ~contest() { on_.clear(); }

  /// One behind the other, so that the first leads.
  void start();
  /// One works and has renewed its term so often; the others wait in the store's queue.
  void settle(int renewals = 0);
  /// Stops the one that leads since settle(). Returns when the next one has acted.
  change stop(leader_stop how);
  /// The one that was stopped stands again. After a freeze: how long its work took to end.
  std::optional<double> bring_back(change const& what);
  /// All resign.
  void dismiss();

 private:
  template <class Condition>
  void await(char const* what, Condition holds);
  void listen();

  stage& on_;
  contest_board& board_;
  candidacy const as_;
  int const candidates_;
  std::function<void(happening const&)> const tell_;
  std::array<std::array<std::int64_t, contest_board::own_words>, contest_board::most> heard_ns_{};
  std::string trouble_;  // since the store was last seen to work
  std::int64_t trouble_ns_ = 0;
  std::int64_t good_ns_ = steady_ns();
  int leader_ = contest_board::nobody;
  std::uint64_t term_ = 0;
};

}  // namespace herdlock::lab
