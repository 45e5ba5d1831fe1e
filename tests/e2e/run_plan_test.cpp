// What `herdlock run` does next, by a clock that the test sets.
#include <gtest/gtest.h>

#include "run/run_plan.hpp"

namespace {

using namespace std::chrono_literals;
using herdlock::wait_forever;
using herdlock::cli::run_plan;
using herdlock::cli::run_step;
using herdlock::cli::run_times;
using time_point = herdlock::clock::time_point;
using kind = run_step::kind;

time_point const start{1h};

TEST(RunPlan, ABusyLeaseIsGivenUpWithoutAWaitAndWaitedForWithOne) {
  EXPECT_EQ(run_plan({}, start).busy(start).what, kind::give_up);
  run_plan waits({.wait = 20s}, start);
  auto const next = waits.busy(start + 3s);
  EXPECT_EQ(next.what, kind::ask);
  EXPECT_EQ(next.wait, 17s) << "the first look counts";
  EXPECT_EQ(waits.busy(start + 20s).what, kind::give_up);
}

TEST(RunPlan, AStoreThatIsAwayIsAskedAgainWithinTheWait) {
  run_plan waits({.wait = 20s}, start);
  auto const next = waits.failed(start + 2s, true);
  ASSERT_EQ(next.what, kind::rest);
  EXPECT_GT(next.until, start + 2s);
  EXPECT_EQ(waits.wait_left(start + 4s), 16s);
  EXPECT_EQ(waits.failed(start + 20s, true).what, kind::give_up);
}

TEST(RunPlan, RetryIsForTheStoreAndNotForTheHolder) {
  run_plan tries({.retry = 15s}, start);
  EXPECT_EQ(tries.failed(start + 2s, true).what, kind::rest);
  EXPECT_EQ(tries.wait_left(start + 3s), 0s);
  EXPECT_EQ(tries.busy(start + 4s).what, kind::give_up);
  EXPECT_EQ(tries.failed(start + 15s, true).what, kind::give_up);
}

TEST(RunPlan, WithoutATimeAndForWhatDoesNotPassOneAnswerIsEnough) {
  EXPECT_EQ(run_plan({}, start).failed(start, true).what, kind::give_up);
  run_plan tries({.wait = 1h, .retry = 1h}, start);
  EXPECT_EQ(tries.failed(start, false).what, kind::give_up);
}

TEST(RunPlan, PausesGrowToASecondAndEndWithTheTime) {
  run_plan tries({.retry = 10s}, start);
  auto pause = 0ns;
  for (int i = 0; i < 8; ++i) {
    auto const longer = tries.failed(start, true).until - start;
    EXPECT_GE(longer, pause);
    pause = longer;
  }
  EXPECT_EQ(pause, 1s);
  EXPECT_EQ(tries.failed(start + 9900ms, true).until, start + 10s);
}

TEST(RunPlan, ForeverHasNoEnd) {
  run_plan waits({.wait = wait_forever}, start);
  EXPECT_EQ(waits.busy(start + 1000h).wait, wait_forever);
  EXPECT_EQ(waits.failed(start + 1000h, true).what, kind::rest);
  run_plan tries({.retry = wait_forever}, start);
  EXPECT_EQ(tries.failed(start + 1000h, true).what, kind::rest);
}

TEST(RunPlan, TheLeaseIsKeptUntilItsGrantIsAsOldAsWasAskedFor) {
  run_plan holds({.min_hold = 5s}, start);
  auto const next = holds.ended(start + 3s, start + 1s);
  EXPECT_EQ(next.what, kind::keep);
  EXPECT_EQ(next.until, start + 6s);
  EXPECT_EQ(holds.ended(start + 6s, start + 1s).what, kind::give_back);
  EXPECT_EQ(run_plan({}, start).ended(start, start).what, kind::give_back);
}

}  // namespace
