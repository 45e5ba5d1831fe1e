// What the scenes cut and session promise of `herdlock run`, and that their judge is not asleep.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/cut.hpp"

namespace {

using namespace herdlock_test;
using namespace std::chrono_literals;
using herdlock::lab::cut_figures;
using herdlock::lab::cut_promises;
using words = std::vector<std::string>;

TEST(LabCut, WhatMakesNoSenseIsRefused) {
  for (words const& bad : {words{"cut", "--command", "/no/herdlock"},
                           {"cut", "--case", "none"},
                           {"cut", "--rounds", "0"},
                           {"cut", "--ttl", "100ms"},
                           {"session", "--command", "/no/herdlock"},
                           {"session", "--only", "redis"},
                           {"session", "--rounds", "0"},
                           {"session", "--grace", "6m"}}) {
    EXPECT_EQ(run_lab(bad).code, 64) << bad[0] << bad[1];
  }
}

cut_figures good_cut() {
  return {.name = "run", .margin = 200ms, .gaps_ms = {200, 340}, .outlived_ms = {0, 1'000}};
}

cut_promises const all_promises{.margin = true, .outlived_ms = 1'000};

std::string broken(cut_figures const& of, cut_promises const& promised = all_promises) {
  return broken_of([&](auto& by) { judge_cut(of, promised, by); });
}

TEST(CutJudge, IsContentWithWhatIsPromised) { EXPECT_EQ(broken(good_cut()), ""); }

TEST(CutJudge, SeesOneThatStartsBeforeTheOtherHasEndedWhereThatIsPromised) {
  auto of = good_cut();
  of.gaps_ms = {340, 0, -1};
  of.lived_on = 1;
  EXPECT_EQ(broken(of, {}),
            "run: the next one began before the other had ended, 2 times\n"
            "run: the command lived on beside the next one, 1 times");
  EXPECT_EQ(broken(of, {.one_at_a_time = false}), "");
}

TEST(CutJudge, SeesLessThanTheMarginWhereThatIsPromised) {
  auto of = good_cut();
  of.gaps_ms.push_back(199);
  EXPECT_EQ(broken(of, {}), "");
  EXPECT_EQ(broken(of), "run: less than the margin was between the two, 1 times");
}

TEST(CutJudge, SeesWorkThatNeverStops) {
  auto of = good_cut();
  of.never_stopped = 1;
  EXPECT_EQ(broken(of), "run: the leader's work did not stop, 1 times");
}

TEST(CutJudge, SeesWhoeverWasNotToldAndWhoGoesOnForTooLong) {
  auto of = good_cut();
  of.take({.gap_ms = 250, .outlived_ms = 1'001, .told = false});
  EXPECT_EQ(broken(of, {}), "run: herdlock run did not end with 76, 1 times");
  of.not_told = 0;
  EXPECT_EQ(broken(of),
            "run: a command was at work for longer than is promised without its lock, 1 times");
}

TEST(CutFigures, TakeWhatARoundHasFound) {
  cut_figures of;
  of.take({.gap_ms = 5, .outlived_ms = 7, .seen_waiting = true, .told = true, .lived_on = true});
  EXPECT_EQ(of.gaps_ms, std::vector<double>{5});
  EXPECT_EQ(of.outlived_ms, std::vector<double>{7});
  EXPECT_EQ(of.seen_waiting, 1);
  EXPECT_EQ(of.not_told, 0);
  EXPECT_EQ(of.lived_on, 1);
}

}  // namespace
