// `herdlock-lab many`: its judges, and what it refuses. The calls themselves are soaks.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/many.hpp"

namespace {

using namespace herdlock_test;
using namespace herdlock::lab;

class ManyJudge : public ::testing::Test {
 protected:
  // A round in which keys 0 and 2 were asked for, and each was loaded once.
  ManyJudge() {
    for (std::size_t const key : {0, 2}) {
      seen_->asked[key] = 3;
      seen_->loaded[key] = 1;
    }
  }
  std::string broken() {
    all_.add(*seen_);
    return broken_of([&](judge& by) { judge_fleet(*seen_, all_, by); });
  }

  shared<many::board> seen_;
  many::loads all_;
};

TEST_F(ManyJudge, AllIsKept) {
  EXPECT_EQ(broken(), "");
  EXPECT_EQ(all_.asked, 2u);
  EXPECT_EQ(all_.loaded, 2u);
  EXPECT_EQ(broken(), "") << "what was counted is gone from the board";
  EXPECT_EQ(all_.asked, 2u);
}

TEST_F(ManyJudge, AKeyThatIsLoadedTwice) {
  seen_->loaded[2] = 2;
  EXPECT_EQ(broken(), "a missing key was loaded more than once in the fleet");
}

TEST_F(ManyJudge, AKeyThatIsNeverLoaded) {
  seen_->loaded[0] = 0;
  EXPECT_EQ(broken(), "a missing key was never loaded");
}

TEST_F(ManyJudge, ALoadOfWhatIsThere) {
  seen_->needless = 1;
  EXPECT_EQ(broken(), "what was there was loaded");
}

TEST_F(ManyJudge, ALoaderThatIsCalledTwice) {
  seen_->again = 1;
  EXPECT_EQ(broken(), "the loader of a call was called more than once");
}

TEST_F(ManyJudge, AWrongValue) {
  seen_->wrong = 1;
  EXPECT_EQ(broken(), "a value was not that of its key");
}

TEST_F(ManyJudge, AnError) {
  seen_->errors = 1;
  EXPECT_EQ(broken(), "somebody had an error, such as the end of its wait");
}

TEST_F(ManyJudge, ACallThatIsNotOver) {
  all_.is_over = false;
  EXPECT_EQ(broken(), "a call was not over at its deadline");
}

TEST(ManyTrips, OneMoreThanIsPromised) {
  many::trips seen{.least = 3, .least_waiting = 4};
  auto const broken = [&] { return broken_of([&](judge& by) { judge_trips(seen, by); }); };
  EXPECT_EQ(broken(), "");
  seen.least = 4;
  EXPECT_EQ(broken(), "read, claim, load, fill: more than three round trips");
  seen.least = 3;
  seen.least_waiting = 5;
  EXPECT_EQ(broken(),
            "read, claim, subscribe, look: more than four round trips behind another's load");
  seen.least_waiting = std::nullopt;
  EXPECT_EQ(broken(), "") << "a cluster is not asked";
  seen.other_loads = 1;
  EXPECT_EQ(broken(), "not one call of the loader, or one behind another's load");
  seen.other_loads = 0;
  seen.wrong = 1;
  EXPECT_EQ(broken(), "a value was not that of its key");
}

TEST(Many, WhatIsOutOfRangeIsRefused) {
  EXPECT_EQ(run_lab({"many", "--case", "other"}).code, 64);
  EXPECT_EQ(run_lab({"many", "--store", "other"}).code, 64);
  EXPECT_EQ(run_lab({"many", "--keys", "30", "--missing", "30"}).code, 64);
  EXPECT_EQ(run_lab({"many", "--processes", "65"}).code, 64);
}

}  // namespace
