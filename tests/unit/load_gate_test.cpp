// How many load at once, and whether the store is asked, with a clock of the test's own.
#include "algo/load_gate.hpp"

#include <gtest/gtest.h>

#include <string>

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

TEST(SlotQueue, IsFirstComeFirstServedAtTheLimitAndBeyond) {
  slot_queue<int> slots(2);
  EXPECT_TRUE(slots.try_take("k"));
  EXPECT_TRUE(slots.try_take("k"));
  EXPECT_FALSE(slots.try_take("k"));
  slots.wait("k", 1);
  auto const second = slots.wait("k", 2);
  slots.wait("k", 3);
  slots.leave(second);
  EXPECT_EQ(slots.give_back("k"), 1);
  EXPECT_EQ(slots.give_back("k"), 3);
  EXPECT_EQ(slots.give_back("k"), std::nullopt);
  EXPECT_EQ(slots.free(), 1u);
}

TEST(SlotQueue, OneKeyCannotHaveAllSlots) {
  slot_queue<int> slots(3, 2);
  EXPECT_TRUE(slots.try_take("hangs"));
  EXPECT_TRUE(slots.try_take("hangs"));
  EXPECT_FALSE(slots.try_take("hangs"));
  slots.wait("hangs", 1);
  EXPECT_TRUE(slots.try_take("other"));
  slots.wait("other", 2);
  EXPECT_EQ(slots.give_back("other"), 2) << "and not 1, who came before";
  EXPECT_EQ(slots.give_back("hangs"), 1);
  EXPECT_EQ(slots.give_back("other"), std::nullopt);
  EXPECT_EQ(slots.free(), 1u);
  EXPECT_FALSE(slots.try_take("hangs"));
  EXPECT_TRUE(slots.try_take("third"));
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
