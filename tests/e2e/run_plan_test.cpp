// What `herdlock run` does next, by a clock that the test sets.
#include <gtest/gtest.h>

#include "run/run_plan.hpp"

namespace {

using namespace std::chrono_literals;
using herdlock::left_as;
using herdlock::wait_forever;
using herdlock::cli::after_work;
using herdlock::cli::found;
using herdlock::cli::run_plan;
using herdlock::cli::run_step;
using herdlock::cli::run_times;
using herdlock::cli::trouble;
using time_point = herdlock::clock::time_point;
using kind = run_step::kind;

time_point const start{1h};

TEST(RunPlan, ABusyLeaseIsGivenUpWithoutAWaitAndWaitedForWithOne) {
  EXPECT_EQ(run_plan({}, after_work::kept, start).busy(start, found::held).what, kind::give_up);
  run_plan waits({.wait = 20s}, after_work::kept, start);
  auto const next = waits.busy(start + 3s, found::held);
  EXPECT_EQ(next.what, kind::ask);
  EXPECT_EQ(next.wait, 17s) << "the first look counts";
  EXPECT_EQ(waits.busy(start + 20s, found::held).what, kind::give_up);
}

TEST(RunPlan, AStoreThatIsAwayIsAskedAgainWithinTheWait) {
  run_plan waits({.wait = 20s}, after_work::kept, start);
  auto const next = waits.failed(start + 2s, trouble::passing);
  ASSERT_EQ(next.what, kind::rest);
  EXPECT_GT(next.until, start + 2s);
  EXPECT_EQ(waits.wait_left(start + 4s), 16s);
  EXPECT_EQ(waits.failed(start + 20s, trouble::passing).what, kind::give_up);
}

TEST(RunPlan, RetryIsForTheStoreAndNotForTheHolder) {
  run_plan tries({.retry = 15s, .ttl = 30s}, after_work::kept, start);
  EXPECT_FALSE(tries.wants_a_look(start)) << "nothing was tried yet";
  EXPECT_EQ(tries.failed(start + 2s, trouble::passing).what, kind::rest);
  EXPECT_EQ(tries.wait_left(start + 3s), 0s);
  EXPECT_EQ(tries.busy(start + 4s, found::held).what, kind::give_up);
  EXPECT_EQ(tries.failed(start + 15s, trouble::passing).what, kind::give_up);
}

// B7: the lease of a try whose answer was lost is no other's.
TEST(RunPlan, ABusyLeaseBehindATryWithoutAnAnswerMayBeOurs) {
  run_plan tries({.retry = 15s, .ttl = 5s}, after_work::kept, start);
  EXPECT_EQ(tries.failed(start + 2s, trouble::passing).what, kind::rest);
  EXPECT_TRUE(tries.wants_a_look(start + 3s));
  auto const next = tries.busy(start + 3s, found::held_by_us);
  ASSERT_EQ(next.what, kind::rest);
  EXPECT_GT(next.until, start + 3s);
  EXPECT_EQ(tries.busy(start + 7s, found::held_by_us).what, kind::give_up) << "its ttl is over";
  run_plan late({.retry = 4s, .ttl = 5s}, after_work::kept, start);
  EXPECT_EQ(late.failed(start + 2s, trouble::passing).what, kind::rest);
  EXPECT_EQ(late.busy(start + 4s, found::held_by_us).what, kind::give_up) << "the time is over";
}

TEST(RunPlan, WithoutATimeAndForWhatDoesNotPassOneAnswerIsEnough) {
  EXPECT_EQ(run_plan({}, after_work::kept, start).failed(start, trouble::passing).what,
            kind::give_up);
  run_plan tries({.wait = 1h, .retry = 1h}, after_work::kept, start);
  EXPECT_EQ(tries.failed(start, trouble::lasting).what, kind::give_up);
}

TEST(RunPlan, PausesGrowToASecondAndEndWithTheTime) {
  run_plan tries({.retry = 10s}, after_work::kept, start);
  auto pause = 0ns;
  for (int i = 0; i < 8; ++i) {
    auto const longer = tries.failed(start, trouble::passing).until - start;
    EXPECT_GE(longer, pause);
    pause = longer;
  }
  EXPECT_EQ(pause, 1s);
  EXPECT_EQ(tries.failed(start + 9900ms, trouble::passing).until, start + 10s);
}

TEST(RunPlan, ForeverHasNoEnd) {
  run_plan waits({.wait = wait_forever}, after_work::kept, start);
  EXPECT_EQ(waits.busy(start + 1000h, found::held).wait, wait_forever);
  EXPECT_EQ(waits.failed(start + 1000h, trouble::passing).what, kind::rest);
  run_plan tries({.retry = wait_forever}, after_work::kept, start);
  EXPECT_EQ(tries.failed(start + 1000h, trouble::passing).what, kind::rest);
}

TEST(RunPlan, TheLeaseIsKeptUntilItsGrantIsAsOldAsWasAskedFor) {
  run_plan holds({.min_hold = 5s}, after_work::kept, start);
  auto const next = holds.ended(start + 3s, start + 1s, 0);
  EXPECT_EQ(next.what, kind::keep);
  EXPECT_EQ(next.until, start + 6s);
  EXPECT_EQ(holds.ended(start + 6s, start + 1s, 0).what, kind::give_back);
  EXPECT_EQ(run_plan({}, after_work::kept, start).ended(start, start, 0).what, kind::give_back);
}

run_step after(run_times times, int status) {
  return run_plan(times, after_work::left, start).ended(start + 3s, start + 1s, status);
}

TEST(RunPlan, WhereTheStoreCanKeepALeaseItIsLeftThere) {
  auto const left = after({.min_hold = 5s}, 7);
  EXPECT_EQ(left.what, kind::leave);
  EXPECT_EQ(left.time, 5s);
  EXPECT_EQ(left.how, left_as::held);
  EXPECT_EQ(after({.min_hold = 2s}, 7).what, kind::give_back);
}

TEST(RunPlan, SuccessIsLeftAsDoneAndFailureIsTriedAgain) {
  auto const done = after({.min_hold = 5s, .once_per = 23h}, 0);
  EXPECT_EQ(done.what, kind::leave);
  EXPECT_EQ(done.time, 23h);
  EXPECT_EQ(done.how, left_as::done);
  EXPECT_EQ(after({.once_per = 23h}, 1).what, kind::give_back);
  auto const failed = after({.min_hold = 5s, .once_per = 23h}, 1);
  EXPECT_EQ(failed.time, 5s);
  EXPECT_EQ(failed.how, left_as::held);
}

TEST(RunPlan, WhoRunsOnceLooksForDoneWhileItWaits) {
  run_plan once({.wait = 1h, .once_per = 23h}, after_work::left, start);
  auto const next = once.busy(start, found::held);
  EXPECT_EQ(next.what, kind::ask);
  EXPECT_LE(next.wait, 1s);
  EXPECT_EQ(once.busy(start, found::done).what, kind::done);
  run_plan often({.wait = 1h}, after_work::left, start);
  EXPECT_EQ(often.busy(start, found::done).what, kind::ask) << "to others it is busy";
}

}  // namespace
