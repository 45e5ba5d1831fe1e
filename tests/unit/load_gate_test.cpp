// How many load at once, and whether the store is asked, with a clock of the test's own.
#include "algo/load_gate.hpp"

#include <gtest/gtest.h>

#include <string>

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

TEST(SlotQueue, IsFirstComeFirstServedAtTheLimitAndBeyond) {
  slot_queue<int> slots(2);
  EXPECT_TRUE(slots.try_take());
  EXPECT_TRUE(slots.try_take());
  EXPECT_FALSE(slots.try_take());
  slots.wait(1);
  auto const second = slots.wait(2);
  slots.wait(3);
  slots.leave(second);
  EXPECT_EQ(slots.give_back(), 1);
  EXPECT_EQ(slots.give_back(), 3);
  EXPECT_EQ(slots.give_back(), std::nullopt);
  EXPECT_EQ(slots.free(), 1u);
}

// S9
TEST(StoreHealth, AFailingStoreIsSkippedThenProbedByOne) {
  store_health health;
  clock::time_point const start(seconds(10));
  EXPECT_EQ(health.next(start), store_use::ask);
  health.failed(start, 0.0);
  EXPECT_EQ(health.next(start + milliseconds{249}), store_use::skip);
  EXPECT_EQ(health.next(start + milliseconds{250}), store_use::skip_and_probe);
  EXPECT_EQ(health.next(start + milliseconds{251}), store_use::skip) << "one probe at a time";
  health.failed(start + milliseconds{2250}, 1.0);
  EXPECT_EQ(health.next(start + milliseconds{3249}), store_use::skip);
  EXPECT_EQ(health.next(start + milliseconds{3250}), store_use::skip_and_probe);
  health.succeeded();
  EXPECT_EQ(health.next(start + milliseconds{3251}), store_use::ask);
}

TEST(StoreHealth, OneThatMayBeBackIsProbedAtOnce) {
  store_health health;
  health.failed(clock::time_point{}, 0.5);
  EXPECT_EQ(health.next(clock::time_point{}), store_use::skip);
  health.ask_soon();
  EXPECT_EQ(health.next(clock::time_point{}), store_use::skip_and_probe);
  EXPECT_EQ(health.next(clock::time_point{}), store_use::skip) << "by one";
  EXPECT_TRUE(health.failing());
}

TEST(StoreHealth, AProbeThatEndsWithoutAnAnswerIsFollowedByAnother) {
  store_health health;
  auto const start = clock::time_point(std::chrono::seconds(1));
  health.failed(start, 0.0);
  auto const later = start + std::chrono::seconds(1);
  EXPECT_EQ(health.next(later), store_use::skip_and_probe);
  EXPECT_EQ(health.next(later), store_use::skip);
  health.probe_over();
  EXPECT_EQ(health.next(later), store_use::skip_and_probe);
}

}  // namespace
}  // namespace herdlock::algo
