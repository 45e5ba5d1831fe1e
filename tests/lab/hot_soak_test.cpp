// `herdlock-lab hot-soak`: its judges are shown what they are to see. The soak itself is a soak.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/hot_soak.hpp"

namespace {

using namespace herdlock_test;
namespace soak = herdlock::lab::hot_soak;
using herdlock::lab::judge;
using herdlock::lab::shared;

constexpr std::int64_t of_a_ms = 1'000'000;

class HotSoakJudge : public ::testing::Test {
 protected:
  HotSoakJudge() {
    how_.processes = 2;
    how_.bursts = 1;
    for (std::size_t n = 0; n < 2; ++n) {
      auto& its = seen_->processes[n].bursts[1];
      its.kept_ns = (1000 + static_cast<std::int64_t>(n)) * of_a_ms;
      its.asked = 40;
      its.longest_ns = of_a_ms;
    }
    seen_->ended = 2;
    seen_->processes[1].behind_fence = 100;
    crowd_.commands_a_second = 30;
    crowd_.reports_a_second = 20;
    seen_->processes[1].let_go_ns = 5000 * of_a_ms;
    crowd_.entry_ended = true;
  }

  std::string bursts() const {
    return broken_of([&](judge& by) { judge_bursts(soak::bursts_seen(how_, *seen_), by); });
  }
  std::string even() const {
    return broken_of([&](judge& by) { judge_even(*seen_, by); });
  }
  std::string crowd() const {
    return broken_of([&](judge& by) { judge_crowd(how_, *seen_, crowd_, by); });
  }

  soak::terms how_;
  shared<soak::board> seen_;
  soak::crowd_seen crowd_;
};

TEST_F(HotSoakJudge, NothingIsBrokenWhenAllGoesWell) {
  seen_->processes[0].became_hot = seen_->processes[1].cooled = 1;
  EXPECT_EQ(bursts() + even() + crowd(), "");
}

TEST_F(HotSoakJudge, WhatAProcessMayAskUntilItKeepsTheKey) {
  auto& its = seen_->processes[0].bursts[1];
  // 32 reads, and those of a tick of 50 ms and its slowest call: 2000 a second.
  EXPECT_DOUBLE_EQ(most_asked(how_, its), 32 + 100 + 2 + 1);
  its.longest_ns = 100 * of_a_ms;
  EXPECT_DOUBLE_EQ(most_asked(how_, its), 32 + 100 + 200 + 1) << "it stood still";
}

TEST_F(HotSoakJudge, MoreCallsThanATickAndARoundTripAllow) {
  seen_->processes[1].bursts[1].asked = 136;
  EXPECT_EQ(bursts(),
            "1 of 2 times a process asked the server more often than its reads, a tick and a round "
            "trip allow");
  seen_->processes[1].bursts[1].asked = 135;
  EXPECT_EQ(bursts(), "");
}

TEST_F(HotSoakJudge, AFleetThatIsLate) {
  seen_->processes[1].bursts[1].kept_ns = 1051 * of_a_ms;
  EXPECT_EQ(bursts(), "the fleet keeps it 51.0 ms behind the first process, at p50: more than 50");
}

TEST_F(HotSoakJudge, AKeyThatBecomesHotOrCoolsAgain) {
  seen_->processes[1].became_hot = 2;
  EXPECT_EQ(even(), "the key came and went: hot 2 times, cooled 0 times");
  seen_->processes[1].became_hot = 0;
  seen_->processes[0].cooled = 2;
  EXPECT_EQ(even(), "the key came and went: hot 0 times, cooled 2 times");
}

TEST_F(HotSoakJudge, TooManyReports) {
  crowd_.reports_a_second = 20.5;
  EXPECT_EQ(crowd(), "a process sent 20.5 reports a second: more than 20");
}

TEST_F(HotSoakJudge, AProcessThatLetsGoLate) {
  seen_->processes[1].let_go_ns = 5001 * of_a_ms;
  EXPECT_EQ(crowd(), "") << "times are not judged";
  how_.times = 1;
  EXPECT_EQ(crowd(), "a process let go of it after 5.00 s");
}

TEST_F(HotSoakJudge, TooManyCommands) {
  crowd_.commands_a_second = 30.5;
  EXPECT_EQ(crowd(), "the server had 30.5 commands a second for the key: more than 30.0");
}

TEST_F(HotSoakJudge, WritesBringCommands) {
  crowd_.writes_a_second = 0.5;  // two for each, and three in each of two processes
  crowd_.commands_a_second = 34;
  EXPECT_EQ(crowd(), "");
  crowd_.commands_a_second = 34.5;
  EXPECT_EQ(crowd(), "the server had 34.5 commands a second for the key: more than 34.0");
}

TEST_F(HotSoakJudge, AnOldValueBehindAFence) {
  seen_->processes[1].stale = 1;
  EXPECT_EQ(crowd(), "of 100 calls behind a fence 1 were too old");
}

TEST_F(HotSoakJudge, NoCallBehindAFence) {
  seen_->processes[1].behind_fence = 0;
  EXPECT_EQ(crowd(), "nobody called behind a fence");
}

TEST_F(HotSoakJudge, AnEntryThatEndsWhileItIsHot) {
  seen_->processes[1].misses = 1;
  EXPECT_EQ(crowd(), "the entry ended 1 times while it was hot");
}

TEST_F(HotSoakJudge, AnEntryThatStays) {
  crowd_.entry_ended = false;
  EXPECT_EQ(crowd(), "the entry did not end when nobody asked any more");
}

TEST_F(HotSoakJudge, TheCrowdIsTheSumOfItsProcesses) {
  auto const sum = [&](soak::count soak::process::*of) {
    for (auto& one : seen_->processes) one.*of = 2;
    seen_->processes[1].*of = 3;
    EXPECT_EQ(seen_->most(of), 3);
    return seen_->sum(of);
  };
  EXPECT_EQ(sum(&soak::process::calls), 2 * soak::most_processes + 1);
}

TEST_F(HotSoakJudge, AProcessWithoutFigures) {
  auto const end = [&] { return broken_of([&](judge& by) { judge_end(how_, *seen_, by); }); };
  EXPECT_EQ(end(), "");
  seen_->ended = 1;
  EXPECT_EQ(end(), "only 1 of 2 processes have told their figures");
}

TEST(HotSoak, WhatItDoesNotKnowIsRefused) {
  EXPECT_EQ(run_lab({"hot-soak", "--case", "none"}).code, 64);
  EXPECT_EQ(run_lab({"hot-soak", "--processes", "17"}).code, 64);
  EXPECT_EQ(run_lab({"hot-soak", "--bursts", "200"}).code, 64);
  EXPECT_EQ(run_lab({"hot-soak", "--time", "3000"}).code, 64) << "a time has a unit";
}

}  // namespace
