// Candidates for one job, each a process, and the one that leads is stopped.
#pragma once

#include <herdlock/election_state.hpp>
#include <optional>

#include "stage/guarded_thing.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

enum class leader_stop {
  graceful,  ///< it resigns, as at a shutdown
  kill,      ///< SIGKILL
  freeze,    ///< SIGSTOP, and SIGCONT when the next one works
};
constexpr char const* name_of(leader_stop how) {
  constexpr char const* names[] = {"graceful", "kill", "freeze"};
  return names[static_cast<std::size_t>(how)];
}

/// What happens to a candidate. The last two are done to it, the others it says itself.
enum class contest_word {
  stands,    ///< asks for the term, and waits for it
  leads,     ///< its work begins
  renews,    ///< the store has renewed its term
  stops,     ///< its work has been told to stop, and has
  resigned,  ///< and has given the term back
  trouble,   ///< with the store
  stop,
  go_on,
};

/// What candidates in processes of their own share with the scene that stops them: where each of
/// them is, what it is to do, and the thing that their work acts at.
class contest_board {
 public:
  static constexpr int most = guarded_thing::spots;
  static constexpr int nobody = -1;

  struct mark {
    std::atomic<std::int64_t> at_ns{0};  ///< 0: never
    std::atomic<std::uint64_t> term{0};
    std::int64_t heard_ns = 0;  ///< the scene's: of the last one that it knows
  };
  struct seat {
    mark& last(contest_word word) { return marks[static_cast<std::size_t>(word)]; }

    std::array<mark, static_cast<std::size_t>(contest_word::stop)> marks;
    std::array<char, 256> why{};  ///< of the last trouble
    std::atomic<election_state> state{};
    std::atomic<std::uint64_t> working{0};                ///< the term of the work that runs, or 0
    std::atomic<std::size_t> spot{guarded_thing::spots};  ///< where that is inside the thing
    std::atomic<int> renewals{0};                         ///< of the last term
    std::atomic<bool> may_stand{true};                    ///< an order; not: it resigns
    std::atomic<bool> stands{false};
    std::atomic<std::int64_t> resigns_ns{0};  ///< since when, if it has been ordered to
  };

  // What a candidate does. Its work is inside the thing, and each act is a write.
  void begin(int who, std::uint64_t term) {
    at(who).renewals = 0;
    note(who, contest_word::leads, term);
    at(who).working = term;
    at(who).spot = thing.enter(term);
    thing.write(term);
  }
  void renewed(int who, std::uint64_t term) {
    ++at(who).renewals;
    note(who, contest_word::renews, term);
  }
  void end(int who, std::uint64_t term) {
    note(who, contest_word::stops, term);
    thing.leave(at(who).spot);
    at(who).working = 0;
  }
  void note(int who, contest_word word, std::uint64_t term = 0) {
    mark& one = at(who).last(word);
    one.term = term;
    one.at_ns = steady_ns();
  }
  void trouble(int who, std::string_view why) {
    auto& text = at(who).why;
    *fmt::format_to_n(text.begin(), text.size() - 1, "{}", why).out = '\0';
    note(who, contest_word::trouble);
  }

  /// Frozen or dead: another's work may begin.
  void excuse(int who) { thing.end(at(who).spot); }
  /// A new place for a process that was killed.
  void clear(int who) {
    thing.leave(at(who).spot);
    std::construct_at(&at(who));
  }
  /// Who works in the highest term.
  int leader() const {
    auto const term = thing.highest();
    auto const found =
        std::ranges::find(seats_, term, [](seat const& each) { return each.working.load(); });
    return term == 0 || found == seats_.end() ? nobody : static_cast<int>(found - seats_.begin());
  }

  seat& at(int who) { return seats_.at(static_cast<std::size_t>(who)); }

  guarded_thing thing{};

 private:
  std::array<seat, most> seats_;
};

struct candidacy {
  std::string url;
  resource name;
  milliseconds ttl;
  int candidates;
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
    int from, to;
    double took_ms;  ///< from the stop to the next one's first act
  };

  /// `tell` hears what happens, in order, while something is waited for. All that waits here throws
  /// command_error (unavailable) when it does not come about: soon where the store has gone away.
  contest(
      stage& on, contest_board& board, candidacy as,
      std::function<void(happening const&)> tell = [](auto const&) {})
      : on_(on), board_(board), as_(std::move(as)), tell_(std::move(tell)) {}
  contest(contest const&) = delete;
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
  std::function<void(happening const&)> const tell_;
  std::string trouble_;  // since the store was last seen to work
  std::int64_t trouble_ns_ = 0;
  std::int64_t good_ns_ = steady_ns();
  int leader_ = contest_board::nobody;
  std::uint64_t term_ = 0;
};

}  // namespace herdlock::lab
