// The machine of an election: each row, a random walk, and the sequences that gave others two
// leaders.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "algo/election_machine.hpp"

namespace herdlock::algo {
namespace {

using state = election_state;
using event = election_event;
using action = election_action;

// Feeds events of the present round; the action of the last one.
action feed(election_machine& machine, std::initializer_list<event> events) {
  action last = action::none;
  for (event const each : events) {
    auto const row = machine.on(each, machine.round());
    EXPECT_TRUE(row) << to_string(machine.state()) << " on " << to_string(each);
    if (row) last = row->action;
  }
  return last;
}

election_machine in(state wanted) {
  election_machine machine;
  switch (wanted) {
    case state::idle:
      break;
    case state::acquiring:
      feed(machine, {event::campaign});
      break;
    case state::working:
      feed(machine, {event::campaign, event::granted});
      break;
    case state::pausing:
      feed(machine, {event::campaign, event::granted, event::lost});
      break;
    case state::waiting:
      feed(machine, {event::campaign, event::failed});
      break;
    case state::withdrawing:
      feed(machine, {event::campaign, event::resign});
      break;
    case state::cleanup:
      feed(machine, {event::campaign, event::granted, event::resign});
      break;
    case state::releasing:
      feed(machine, {event::campaign, event::failed, event::resign});
      break;
  }
  EXPECT_EQ(machine.state(), wanted);
  return machine;
}

constexpr std::array all_states{state::idle,    state::acquiring, state::working,
                                state::pausing, state::waiting,   state::withdrawing,
                                state::cleanup, state::releasing};
constexpr std::array all_events{event::campaign, event::granted,  event::failed,  event::refused,
                                event::lost,     event::finished, event::stopped, event::overdue,
                                event::rested,   event::resign,   event::released};

TEST(ElectionMachine, EachRowDoesWhatItSaysAndNothingElseDoesAnything) {
  std::size_t taken = 0;
  for (state const from : all_states) {
    for (event const what : all_events) {
      auto machine = in(from);
      auto const row = machine.on(what);
      if (!row) {
        EXPECT_EQ(machine.state(), from);
        continue;
      }
      ++taken;
      EXPECT_EQ(row->state, from);
      EXPECT_EQ(row->event, what);
      EXPECT_EQ(machine.state(), row->next);
    }
  }
  EXPECT_EQ(taken, election_table.size());
}

// What the design asks for, spelled out: the table must not be its own judge.
TEST(ElectionMachine, ATermFromTheCampaignToTheHandOver) {
  election_machine machine;
  EXPECT_EQ(feed(machine, {event::campaign}), action::acquire);
  EXPECT_EQ(feed(machine, {event::granted}), action::start_work);
  EXPECT_EQ(feed(machine, {event::resign}), action::stop_work);
  EXPECT_EQ(feed(machine, {event::stopped}), action::release);
  EXPECT_EQ(feed(machine, {event::released}), action::finish);
  EXPECT_EQ(machine.state(), state::idle);
}

TEST(ElectionMachine, ALostTermIsStoppedThenRestedThenStoodForAgain) {
  auto machine = in(state::working);
  EXPECT_EQ(feed(machine, {event::lost}), action::stop_work);
  EXPECT_EQ(feed(machine, {event::overdue}), action::warn);
  EXPECT_EQ(feed(machine, {event::stopped}), action::rest);
  EXPECT_EQ(feed(machine, {event::rested}), action::acquire);
  EXPECT_EQ(machine.round(), 2u);
}

TEST(ElectionMachine, WorkThatEndsByItselfGivesTheTermBackAndRests) {
  auto machine = in(state::working);
  EXPECT_EQ(feed(machine, {event::finished}), action::stop_work);
  EXPECT_EQ(feed(machine, {event::stopped}), action::rest);
}

TEST(ElectionMachine, ResigningBeforeTheGrantGivesBackAGrantThatCrosses) {
  auto machine = in(state::acquiring);
  EXPECT_EQ(feed(machine, {event::resign}), action::withdraw);
  EXPECT_EQ(feed(machine, {event::granted}), action::release);
  EXPECT_EQ(feed(machine, {event::released}), action::finish);
}

TEST(ElectionMachine, ResigningWhilePausingStopsOnlyOnce) {
  auto machine = in(state::pausing);
  EXPECT_EQ(feed(machine, {event::resign}), action::none);
  EXPECT_EQ(feed(machine, {event::stopped}), action::release);
}

TEST(ElectionMachine, AStoreThatWillNotAnswerDifferentlyEndsTheCampaign) {
  auto machine = in(state::acquiring);
  EXPECT_EQ(feed(machine, {event::refused, event::released}), action::finish);
}

// B14, k8s#23731: the term is another's, and the asking for the next one begins while the old work
// still runs: OnStoppedLeading never came.
TEST(ElectionMachine, B14NothingIsAskedForUntilTheOldWorkHasStopped) {
  auto machine = in(state::working);
  feed(machine, {event::lost});
  for (event const what : all_events) {
    if (what == event::stopped || what == event::resign) continue;
    auto tried = machine;
    auto const row = tried.on(what);
    EXPECT_EQ(row ? row->action : action::warn, action::warn) << to_string(what);
    EXPECT_EQ(tried.state(), state::pausing) << to_string(what);
  }
}

// B14, CURATOR-696: back after the session was gone, the leader finds its old node, and leads by
// it until the server removes it.
TEST(ElectionMachine, B14AnOldGrantNeverMakesALeaderAgain) {
  auto machine = in(state::working);
  auto const old = machine.round();
  feed(machine, {event::lost});
  EXPECT_FALSE(machine.on(event::granted, old));
  feed(machine, {event::stopped});
  EXPECT_FALSE(machine.on(event::granted, old));
  feed(machine, {event::rested});
  EXPECT_FALSE(machine.on(event::granted, old)) << "stood anew: only a new grant counts";
  EXPECT_EQ(machine.state(), state::acquiring);
}

// B14, CURATOR-620: two reconnections in quick succession interleave; the clean-up of the first
// takes effect after the second has led.
TEST(ElectionMachine, B14LateWordsOfAnEarlierTermDoNotTouchThePresentOne) {
  auto machine = in(state::working);
  auto const old = machine.round();
  feed(machine, {event::lost});
  EXPECT_FALSE(machine.on(event::lost, old)) << "told twice";
  feed(machine, {event::stopped, event::rested, event::granted});
  for (event const what : all_events) EXPECT_FALSE(machine.on(what, old)) << to_string(what);
  EXPECT_EQ(machine.state(), state::working);
}

// B14, CURATOR-653: a candidate that was told to stand down while it asked is granted the term by
// an event that was on its way.
TEST(ElectionMachine, B14AGrantThatCrossesTheResignationStartsNoWork) {
  auto machine = in(state::acquiring);
  feed(machine, {event::resign});
  auto const row = machine.on(event::granted, machine.round());
  ASSERT_TRUE(row);
  EXPECT_EQ(row->action, action::release);
}

// B15, etcd#19597: a waiter whose own session has died waits on; etcd#9921: it believes it won when
// the one before it has gone.
TEST(ElectionMachine, B15AWaiterWhoseOwnPlaceIsGoneStandsAnewAndNeverLeadsByTheOldOne) {
  auto machine = in(state::acquiring);
  auto const old = machine.round();
  EXPECT_EQ(feed(machine, {event::failed}), action::rest) << "at once, not when its turn comes";
  EXPECT_FALSE(machine.on(event::granted, old));
  EXPECT_EQ(feed(machine, {event::rested}), action::acquire);
  EXPECT_FALSE(machine.on(event::granted, old));
  EXPECT_EQ(feed(machine, {event::granted}), action::start_work);
}

// ------------------------------------------------------------------------------- random walks

// Candidates over a store of one lease, in steps of time. Renewals fail while a candidate is cut
// off; work takes up to stop_grace to stop. Events of old rounds come again at random.
struct world {
  static constexpr int ttl = 30;
  static constexpr int stop_grace = 6;
  static constexpr int margin = 1;  // what valid_until is before the store's own end

  struct candidate {
    election_machine machine;
    bool cut_off = false;
    bool works = false;
    bool stopping = false;
    int stops_at = 0;
    bool lost = false;    // a lost lease is never renewed
    int valid_until = 0;  // of the lease of this round; 0: none
    std::uint64_t held_round = 0;
  };

  std::vector<candidate> all{3};
  int now = 0;
  int holder = -1;
  int expires = 0;
  int fencing = 0;

  void take(int who, std::optional<election_row> const& row) {
    if (!row) return;
    auto& c = all[static_cast<std::size_t>(who)];
    switch (row->action) {
      case action::acquire:
      case action::rest:
      case action::release:
        RC_ASSERT(!c.works);  // nothing is asked for or given back while anything works
        if (holder == who && !c.cut_off) holder = -1;
        c.valid_until = 0;
        break;
      case action::start_work:
        RC_ASSERT(!c.works);
        c.works = true;
        c.stopping = false;
        break;
      case action::stop_work:
        RC_ASSERT(c.works && !c.stopping);
        c.stopping = true;
        c.stops_at = now + *rc::gen::inRange(0, stop_grace + 1);
        break;
      case action::none:
      case action::withdraw:
      case action::warn:
      case action::finish:
        break;
    }
  }

  // What the store and the lease do by themselves.
  void serve(int who) {
    auto& c = all[static_cast<std::size_t>(who)];
    if (holder >= 0 && now >= expires) holder = -1;
    if (c.valid_until != 0 && c.works) {
      if (!c.cut_off && holder == who && !c.lost) {
        expires = now + ttl;
        c.valid_until = now + ttl - margin;
      }
      if (now >= c.valid_until - stop_grace) {
        c.lost = true;
        take(who, c.machine.on(event::lost, c.held_round));
      }
    }
    if (c.works && c.stopping && now >= c.stops_at) {
      c.works = false;
      take(who, c.machine.on(event::stopped, c.held_round));
    }
    if (c.machine.state() == state::acquiring && !c.cut_off && holder < 0) {
      holder = who;
      expires = now + ttl;
      ++fencing;
      c.valid_until = now + ttl - margin;
      c.held_round = c.machine.round();
      c.lost = false;
      take(who, c.machine.on(event::granted, c.machine.round()));
    }
  }

  void disturb(int who) {
    auto& c = all[static_cast<std::size_t>(who)];
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
        c.cut_off = !c.cut_off;
        break;
      case 1:
        take(who, c.machine.on(event::campaign));
        break;
      case 2:
        take(who, c.machine.on(event::resign));
        break;
      case 3:
        if (c.works) take(who, c.machine.on(event::finished, c.held_round));
        break;
      case 4:
        take(who, c.machine.on(event::rested, c.machine.round()));
        break;
      case 5:
        take(who, c.machine.on(event::released, c.machine.round()));
        break;
      case 6:
        take(who, c.machine.on(event::failed, c.machine.round()));
        break;
      default: {  // anything, of a round that is over
        auto const what = *rc::gen::elementOf(all_events);
        if (c.machine.round() > 0) {
          RC_ASSERT(!c.machine.on(what, c.machine.round() - 1));
        }
      }
    }
  }

  void judge() const {
    int working = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& c = all[i];
      if (!c.works) continue;
      ++working;
      RC_ASSERT(now <= c.valid_until);  // ends before the term does
      RC_ASSERT(c.machine.state() == state::working || c.stopping);
    }
    RC_ASSERT(working <= 1);
  }
};

RC_GTEST_PROP(ElectionMachineWalk, WorkNeverRunsOutsideATermAndAlwaysEndsBeforeIt, ()) {
  world w;
  int const steps = *rc::gen::inRange(50, 400);
  for (int i = 0; i < steps; ++i) {
    ++w.now;
    int const who = *rc::gen::inRange(0, 3);
    w.disturb(who);
    for (int each = 0; each < 3; ++each) w.serve(each);
    w.judge();
  }
}

TEST(ElectionDiagram, IsTheTable) {
  for (auto const format : {diagram_format::mermaid, diagram_format::graphviz}) {
    auto const text = election_diagram(format);
    std::size_t arrows = 0;
    for (auto at = text.find(" --> "); at != std::string::npos; at = text.find(" --> ", at + 1)) {
      ++arrows;
    }
    for (auto at = text.find(" -> "); at != std::string::npos; at = text.find(" -> ", at + 1)) {
      ++arrows;
    }
    EXPECT_EQ(arrows, election_table.size() + (format == diagram_format::mermaid ? 1 : 0)) << text;
    EXPECT_NE(text.find("lost / stop_work"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace herdlock::algo
