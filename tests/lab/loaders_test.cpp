// `herdlock-lab loaders`: its judge, how long it goes on, and what it refuses. The calls themselves
// are a soak.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/loaders.hpp"

namespace {

using namespace herdlock_test;
using herdlock::lab::judge;
using herdlock::lab::loaders::board;
using herdlock::lab::loaders::judge_calls;

class LoadersJudge : public ::testing::Test {
 protected:
  LoadersJudge() { seen_.ended_in_loader = seen_.ended_waiting = 20; }
  std::string broken() {
    return broken_of([&](judge& by) { judge_calls(100, seen_, by); });
  }

  board seen_;
};

TEST_F(LoadersJudge, EachFault) {
  EXPECT_EQ(broken(), "");
  seen_.behind = 1;
  EXPECT_EQ(broken(), "a loader began or ended behind the end of its call");
  seen_.behind = 0;
  seen_.ended_in_loader = 19;
  EXPECT_EQ(broken(), "too few calls ended while their loader ran");
  seen_.ended_in_loader = 20;
  seen_.ended_waiting = 19;
  EXPECT_EQ(broken(), "too few calls ended while they waited");
}

TEST_F(LoadersJudge, CallsGoOnUntilThereIsEnoughOfBothEnds) {
  seen_.calls = 99;
  EXPECT_TRUE(seen_.another(100));
  EXPECT_FALSE(seen_.another(100)) << "there are 100, and enough of both";
  seen_.ended_waiting = 19;
  EXPECT_TRUE(seen_.another(100));
  seen_.ended_waiting = 20;
  seen_.ended_in_loader = 19;
  EXPECT_TRUE(seen_.another(100));
  seen_.calls = 1999;
  EXPECT_TRUE(seen_.another(100));
  EXPECT_FALSE(seen_.another(100)) << "20 times as many are made at most";
}

TEST(Loaders, WhatIsOutOfRangeIsRefused) {
  EXPECT_EQ(run_lab({"loaders", "--calls", "0"}).code, 64);
  EXPECT_EQ(run_lab({"loaders", "--threads", "1001"}).code, 64);
}

}  // namespace
