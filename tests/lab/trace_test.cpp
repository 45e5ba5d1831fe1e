// `herdlock-lab trace`: what the truth is, and its judge. The trace itself is a soak.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/trace.hpp"

namespace {

using namespace herdlock_test;
namespace trace = herdlock::lab::trace;
using herdlock::lab::judge;

void read(trace::board& seen, std::size_t rank, int times) {
  for (int i = 0; i < times; ++i) seen.note_read(rank);
}

TEST(TraceBoard, TheTruthIsThatOfTheLastTenSeconds) {
  trace::board seen(20);
  read(seen, 19, 5);
  for (int second = 0; second < 9; ++second) seen.begin_second();
  read(seen, 18, 2);
  read(seen, 3, 1);
  auto const all = seen.truth();
  ASSERT_EQ(all.size(), 16u);
  EXPECT_EQ(all[0], 19u) << "nine seconds ago";
  EXPECT_EQ(all[1], 18u);
  EXPECT_EQ(all[2], 3u);
  seen.begin_second();
  EXPECT_EQ(seen.truth()[0], 18u) << "what is ten seconds old has gone";
}

TEST(TraceBoard, ASecondThatBeginsAnewIsEmpty) {
  trace::board seen(20);
  read(seen, 7, 5);
  for (int second = 0; second < 16; ++second) seen.begin_second();
  read(seen, 8, 1);
  EXPECT_EQ(seen.truth()[0], 8u);
  EXPECT_EQ(seen.now->reads, 6u);
}

TEST(TraceFinding, IsOfTheTrueFirstOnes) {
  std::vector<std::size_t> truth(16);
  std::iota(truth.begin(), truth.end(), std::size_t{100});
  trace::finding const some({115, 100, 99, 107, 108}, truth, 1.5);
  EXPECT_EQ(some.of_16, 4u);
  EXPECT_EQ(some.of_8, 2u);
  EXPECT_DOUBLE_EQ(some.took_s, 1.5);
}

class TraceJudge : public ::testing::Test {
 protected:
  TraceJudge() {
    all_.clients.emplace();
    all_.clients->of_16 = 15;
    all_.clients->of_8 = 8;
    all_.clients_took_s = 0.1;
    all_.lfu.emplace();
    all_.lfu->of_16 = 14;
    all_.lfu->took_s = 60;
    all_.lfu_share = 0.25;
  }
  std::string broken() const {
    return broken_of([&](judge& by) { judge_trace(all_, by); });
  }

  trace::findings all_;
};

TEST_F(TraceJudge, NothingIsBrokenWhenTheyFindEnough) {
  EXPECT_EQ(broken(), "");
  all_ = {};
  EXPECT_EQ(broken(), "") << "nobody was asked";
}

TEST_F(TraceJudge, ClientsThatMissTwo) {
  all_.clients->of_16 = 14;
  EXPECT_EQ(broken(), "clients found only 14 of the first 16");
}

TEST_F(TraceJudge, ClientsThatMissOneOfTheFirstEight) {
  all_.clients->of_8 = 7;
  EXPECT_EQ(broken(), "clients found only 7 of the first 8");
}

TEST_F(TraceJudge, ClientsThatAreLate) {
  all_.clients_took_s = 0.12;
  EXPECT_EQ(broken(), "clients answered after 120 ms: more than 100");
  all_.clients_took_s.reset();
  EXPECT_EQ(broken(), "") << "times are not judged";
}

TEST_F(TraceJudge, LfuThatMissesThree) {
  all_.lfu->of_16 = 13;
  EXPECT_EQ(broken(), "lfu found only 13 of the first 16");
}

TEST_F(TraceJudge, LfuThatIsSlow) {
  all_.lfu_share = 0.28;
  EXPECT_EQ(broken(), "lfu took 0.28 of the time of redis-cli --hotkeys: more than 0.25");
}

TEST_F(TraceJudge, MonitorIsNotJudged) {
  all_.monitor.emplace();
  EXPECT_EQ(broken(), "");
}

TEST(Trace, WhatItDoesNotKnowIsRefused) {
  EXPECT_EQ(run_lab({"trace", "--source", "none"}).code, 64);
  EXPECT_EQ(run_lab({"trace", "--keys", "15"}).code, 64);
  auto const none = run_lab({"trace", "--command", "nowhere/herdlock"});
  EXPECT_EQ(none.code, 64);
  EXPECT_NE(none.err.find("nowhere/herdlock"), std::string::npos) << none.err;
}

}  // namespace
