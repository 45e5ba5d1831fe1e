// What the scenes cut and session promise of `herdlock run`, and that their judges are not asleep.
#include <gtest/gtest.h>

#include "lab_command.hpp"
#include "scenes/cut_judge.hpp"
#include "scenes/session_judge.hpp"

namespace {

using namespace herdlock_test;
using namespace std::chrono_literals;
using herdlock::lab::cut_figures;
using herdlock::lab::judge;
using herdlock::lab::judge_cut;
using herdlock::lab::judge_session;
using herdlock::lab::margins;
using herdlock::lab::session_figures;
using herdlock::lab::session_grace;
using words = std::vector<std::string>;

TEST(LabCut, WhatMakesNoSenseIsRefused) {
  for (words const& bad : {words{"--command", "/no/herdlock"},
                           {"--case", "none"},
                           {"--rounds", "0"},
                           {"--ttl", "100ms"}}) {
    words all{"cut"};
    all.insert(all.end(), bad.begin(), bad.end());
    EXPECT_EQ(run_lab(all).code, 64) << bad.front();
  }
}

TEST(LabSession, WhatMakesNoSenseIsRefused) {
  for (words const& bad : {words{"--command", "/no/herdlock"},
                           {"--only", "redis"},
                           {"--rounds", "0"},
                           {"--grace", "6m"}}) {
    words all{"session"};
    all.insert(all.end(), bad.begin(), bad.end());
    EXPECT_EQ(run_lab(all).code, 64) << bad.front();
  }
}

// ------------------------------------------------------------------------------------ cut's judge

cut_figures good_cut() {
  cut_figures of{"run", 200ms};
  of.gaps_ms = {200, 340};
  return of;
}

words broken(cut_figures const& of, margins how = margins::are_promised) {
  judge by;
  judge_cut(of, how, by);
  return by.broken();
}

TEST(CutJudge, IsContentWithWhatIsPromised) { EXPECT_TRUE(broken(good_cut()).empty()); }

TEST(CutJudge, SeesOneThatStartsBeforeTheOtherHasEnded) {
  auto of = good_cut();
  of.gaps_ms = {340, 0, -1};
  EXPECT_EQ(broken(of, margins::are_told),
            words{"run: the next one began before the other had ended, 2 times"});
}

TEST(CutJudge, SeesLessThanTheMarginWhereThatIsPromised) {
  auto of = good_cut();
  of.gaps_ms.push_back(199);
  EXPECT_TRUE(broken(of, margins::are_told).empty());
  EXPECT_EQ(broken(of), words{"run: less than the margin was between the two, 1 times"});
}

TEST(CutJudge, SeesWorkThatNeverStops) {
  auto of = good_cut();
  of.never_stopped = 1;
  EXPECT_EQ(broken(of), words{"run: the leader's work did not stop, 1 times"});
}

TEST(CutJudge, SeesALeaseThatWasNotTakenForLost) {
  auto of = good_cut();
  of.not_told = 1;
  EXPECT_EQ(broken(of), words{"run: herdlock run did not end with 76, 1 times"});
}

TEST(CutJudge, SeesACommandThatLivesOn) {
  auto of = good_cut();
  of.lived_on = 1;
  EXPECT_EQ(broken(of), words{"run: the command lived on beside the next one, 1 times"});
}

// -------------------------------------------------------------------------------- session's judge

session_figures good_session() {
  session_figures of;
  of.way = "by time";
  of.rounds = of.told = 3;
  of.gone_ns = 1'000'000'000;
  of.overlap_ns = -1;
  return of;
}

words broken(session_figures const& of, session_grace grace = session_grace::given) {
  judge by;
  judge_session(of, grace, by);
  return by.broken();
}

TEST(SessionJudge, IsContentWithWhatIsPromised) { EXPECT_TRUE(broken(good_session()).empty()); }

TEST(SessionJudge, SeesACommandThatWasNotTold) {
  auto of = good_session();
  of.told = 2;
  EXPECT_EQ(broken(of), words{"by time: 1 of 3 commands did not end with 76"});
}

TEST(SessionJudge, SeesACommandThatOutlivesItsSession) {
  auto of = good_session();
  of.gone_ns += 1'000'000;
  EXPECT_EQ(
      broken(of),
      words{"by time: a command was at work 1.001 s after its session, longer than a second"});
}

TEST(SessionJudge, SeesTwoAtWorkAtOnceWhereAGraceWasGiven) {
  auto of = good_session();
  of.overlaps = 1;
  of.overlap_ns = 14'000'000;
  EXPECT_TRUE(broken(of, session_grace::none).empty());
  EXPECT_EQ(broken(of),
            words{"by time: with a grace two were at work at once, 1 times, for 0.014 s at most"});
}

}  // namespace
