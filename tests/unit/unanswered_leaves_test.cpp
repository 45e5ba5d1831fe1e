// Leaves of a queue that a server refuses, or does not answer.
#include "algo/unanswered_leaves.hpp"

#include <gtest/gtest.h>

namespace {

using namespace std::chrono_literals;
using herdlock::algo::max_kept_leaves;
using herdlock::algo::unanswered_leaves;
using numbers = std::vector<std::int64_t>;

TEST(UnansweredLeaves, OneIsSentAtOnce) {
  unanswered_leaves leaves;
  EXPECT_EQ(leaves.begin(1).send, numbers{1});
  EXPECT_EQ(leaves.begin(2).send, numbers{2}) << "without waiting for the first";
  EXPECT_EQ(leaves.answered().send, numbers{}) << "and once";
}

// B5, B8: an entry that its waiter has left stands in the queue for as long as the session lives.
TEST(UnansweredLeaves, OneThatIsRefusedIsSentUntilItIsAnswered) {
  unanswered_leaves leaves;
  leaves.begin(1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(leaves.failed(1).pause.has_value());
    EXPECT_EQ(leaves.tick().send, numbers{1});
  }
  EXPECT_EQ(leaves.answered().send, numbers{});
  EXPECT_EQ(leaves.begin(2).send, numbers{2}) << "as before";
}

TEST(UnansweredLeaves, ThePausesGrowToTwoSecondsAndBeginAnewAfterAnAnswer) {
  unanswered_leaves leaves;
  leaves.begin(1);
  EXPECT_EQ(leaves.failed(1).pause, 50ms);
  for (int i = 0; i < 10; ++i) {
    leaves.tick();
    leaves.failed(1);
  }
  leaves.tick();
  EXPECT_EQ(leaves.failed(1).pause, 2s);
  leaves.tick();
  leaves.answered();
  leaves.begin(2);
  EXPECT_EQ(leaves.failed(2).pause, 50ms);
}

// A server that refuses is not asked by thousands.
TEST(UnansweredLeaves, InTroubleOneIsTriedAndAllOthersFollowIt) {
  unanswered_leaves leaves;
  for (int i = 1; i <= 3; ++i) leaves.begin(i);
  EXPECT_TRUE(leaves.failed(1).pause.has_value());
  EXPECT_FALSE(leaves.failed(2).pause.has_value()) << "one pause for all";
  EXPECT_FALSE(leaves.failed(3).pause.has_value());
  EXPECT_EQ(leaves.begin(4).send, numbers{});
  EXPECT_EQ(leaves.tick().send, numbers{1});
  EXPECT_EQ(leaves.answered().send, (numbers{2, 3, 4}));
}

// The entries went with the session; the next one's are others.
TEST(UnansweredLeaves, NothingIsKeptOfASessionThatIsOver) {
  unanswered_leaves leaves;
  leaves.begin(1);
  leaves.failed(1);
  leaves.clear();
  EXPECT_EQ(leaves.begin(2).send, numbers{2});
  EXPECT_EQ(leaves.tick().send, numbers{}) << "the pause of before";
  EXPECT_EQ(leaves.failed(2).pause, 50ms);
}

// The same owner waits again, or has the lease by now: its leave would take that away.
TEST(UnansweredLeaves, WhoIsBackDoesNotLeave) {
  unanswered_leaves leaves;
  for (int i = 1; i <= 2; ++i) leaves.begin(i);
  for (int i = 1; i <= 2; ++i) leaves.failed(i);
  leaves.forget(1);
  EXPECT_EQ(leaves.tick().send, numbers{2});
  leaves.failed(2);
  leaves.forget(2);
  EXPECT_EQ(leaves.tick().send, numbers{});
  EXPECT_EQ(leaves.begin(3).send, numbers{3}) << "nothing is under way for which it could wait";
}

TEST(UnansweredLeaves, TheyAreBounded) {
  unanswered_leaves leaves;
  leaves.begin(0);
  leaves.failed(0);
  for (std::size_t i = 1; i < max_kept_leaves; ++i) {
    EXPECT_FALSE(leaves.begin(static_cast<std::int64_t>(i)).dropped.has_value());
  }
  auto const one_more = static_cast<std::int64_t>(max_kept_leaves);
  EXPECT_EQ(leaves.begin(one_more).dropped, 0) << "the oldest";
  EXPECT_EQ(leaves.answered().send.size(), max_kept_leaves);
}

}  // namespace
