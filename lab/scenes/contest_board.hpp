// What candidates in processes of their own share with the scene that stops them: where each of
// them is, what it is to do, and the thing that their work acts at.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <herdlock/election_state.hpp>
#include <memory>
#include <string_view>

#include "stage/clock.hpp"
#include "stage/guarded_thing.hpp"

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

class contest_board {
 public:
  static constexpr int most = guarded_thing::spots;
  static constexpr int nobody = -1;
  static constexpr std::size_t own_words = 6;

  struct mark {
    std::atomic<std::int64_t> at_ns{0};  ///< 0: never
    std::atomic<std::uint64_t> term{0};
  };
  struct seat {
    mark const& last(contest_word word) const { return marks[static_cast<std::size_t>(word)]; }

    std::array<mark, own_words> marks;
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
    mark& one = at(who).marks[static_cast<std::size_t>(word)];
    one.term = term;
    one.at_ns = steady_ns();
  }
  void trouble(int who, std::string_view why) {
    auto& text = at(who).why;
    std::fill(std::copy_n(why.data(), std::min(why.size(), text.size() - 1), text.begin()),
              text.end(), '\0');
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
    auto const is_it = [term](seat const& each) { return term != 0 && each.working == term; };
    auto const found = std::find_if(seats_.begin(), seats_.end(), is_it);
    return found == seats_.end() ? nobody : static_cast<int>(found - seats_.begin());
  }

  seat& at(int who) { return seats_.at(static_cast<std::size_t>(who)); }
  seat const& at(int who) const { return seats_.at(static_cast<std::size_t>(who)); }

  guarded_thing thing{};

 private:
  std::array<seat, most> seats_;
};

}  // namespace herdlock::lab
