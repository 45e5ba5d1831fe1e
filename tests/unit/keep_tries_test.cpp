#include "algo/keep_tries.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

constexpr clock::time_point start{std::chrono::hours(1)};

TEST(KeepTries, OneThatBroughtNothingToBeKeptIsFollowedByAPauseFromWhenItWasSent) {
  keep_tries tries;
  EXPECT_TRUE(tries.may_send(start));
  tries.answered(tries.sent(start));
  EXPECT_FALSE(tries.may_send(start + keep_tries::pause - 1ms));
  EXPECT_TRUE(tries.may_send(start + keep_tries::pause));
}

TEST(KeepTries, AChangeEndsThePause) {
  keep_tries tries;
  tries.answered(tries.sent(start));
  tries.changed();
  EXPECT_TRUE(tries.may_send(start));
}

TEST(KeepTries, BehindAChangeTheAnswerIsWaitedFor) {
  keep_tries tries;
  auto const number = tries.sent(start);
  tries.changed();
  EXPECT_FALSE(tries.may_send(start));
  tries.answered(number);
  EXPECT_TRUE(tries.may_send(start));
}

TEST(KeepTries, AChangeOfBeforeSaysNothingOfTheNextOne) {
  keep_tries tries;
  tries.changed();
  tries.answered(tries.sent(start));
  EXPECT_FALSE(tries.may_send(start));
}

TEST(KeepTries, WhereAnswersTakeLongerThanThePauseTheLatestCounts) {
  keep_tries tries;
  auto const slow = tries.sent(start);
  auto const latest = tries.sent(start + keep_tries::pause);
  tries.changed();
  tries.answered(slow);
  EXPECT_FALSE(tries.may_send(start + keep_tries::pause));
  tries.answered(latest);
  EXPECT_TRUE(tries.may_send(start + keep_tries::pause));
}

}  // namespace
}  // namespace herdlock::algo
