// When a process asks for what it has missed, with times and random parts of the test's own.
#include "algo/look_schedule.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using outcome = look_schedule::outcome;
using std::chrono::seconds;

clock::time_point at_ms(int ms) { return clock::time_point(milliseconds(ms)); }

/// One that has looked behind its first subscription, at 0.
look_schedule that_has_looked() {
  look_schedule one(milliseconds{0});
  one.subscribed(at_ms(0), 0.5);
  one.sent(at_ms(0));
  one.answered(outcome::done, at_ms(0), 0.5);
  return one;
}

TEST(LookSchedule, NobodyLooksWithoutASubscription) {
  look_schedule one(milliseconds{0});
  EXPECT_FALSE(one.due());
  one.heard(7, at_ms(0), 0.5);
  one.heard(9, at_ms(0), 0.5);
  EXPECT_FALSE(one.due());
}

TEST(LookSchedule, AProcessThatBeginsLooksAfterARandomPartOfItsFirstPause) {
  look_schedule at_once(milliseconds{0}), later(milliseconds{5'000});
  at_once.subscribed(at_ms(100), 0.9);
  EXPECT_EQ(at_once.due(), at_ms(100));
  later.subscribed(at_ms(100), 0.4);
  EXPECT_EQ(later.due(), at_ms(2100)) << "all those of a fleet may begin together";
}

// A store that is too slow for the answer is not asked by all in the next seconds.
TEST(LookSchedule, ALookThatALossHasCutOffDoublesThePause) {
  auto one = that_has_looked();
  auto now = at_ms(1000);
  for (int const longest : {5'000, 10'000, 20'000, 40'000, 60'000, 60'000}) {
    one.lost();
    one.subscribed(now, 0.5);
    EXPECT_EQ(one.due(), now + milliseconds(longest) / 2);
    now = *one.due();
    one.sent(now);
  }
  one.answered(outcome::done, now, 0);
  one.lost();
  one.subscribed(now, 0.5);
  EXPECT_EQ(one.due(), now + milliseconds(2'500)) << "it has succeeded";
}

TEST(LookSchedule, BehindALossItLooksAfterARandomPause) {
  for (double const part : {0.0, 0.4, 0.999}) {
    auto one = that_has_looked();
    one.lost();
    EXPECT_FALSE(one.due());
    one.subscribed(at_ms(1000), part);
    ASSERT_TRUE(one.due());
    EXPECT_EQ(*one.due(), at_ms(1000 + static_cast<int>(part * 5000)));
  }
}

// A second listener of the process subscribes to the same channel.
TEST(LookSchedule, OneThatIsSubscribedAlreadyLooksForNothing) {
  auto one = that_has_looked();
  one.subscribed(at_ms(1000), 0.5);
  EXPECT_FALSE(one.due());
}

TEST(LookSchedule, ALossCostsOneLook) {
  auto one = that_has_looked();
  one.lost();
  one.subscribed(at_ms(1000), 0.5);
  one.heard(50, at_ms(1100), 0.1);
  EXPECT_EQ(one.due(), at_ms(3500)) << "the first number behind it changes nothing";
  one.sent(at_ms(3500));
  one.heard(51, at_ms(3501), 0.1);
  one.answered(outcome::done, at_ms(3510), 0.1);
  one.heard(52, at_ms(3600), 0.1);
  EXPECT_FALSE(one.due());
}

TEST(LookSchedule, TheFirstNumberBehindALookIsNoneThatWasMissed) {
  auto one = that_has_looked();
  one.heard(50, at_ms(20'000), 0.2);
  EXPECT_FALSE(one.due());
  one.lost();
  one.subscribed(at_ms(21'000), 0.0);
  one.sent(at_ms(21'000));
  one.answered(outcome::done, at_ms(21'001), 0.0);
  one.heard(70, at_ms(40'000), 0.2);
  EXPECT_FALSE(one.due());
}

TEST(LookSchedule, WhatIsLostAgainBeforeItsLookIsLookedForOnce) {
  auto one = that_has_looked();
  one.lost();
  one.subscribed(at_ms(1000), 0.9);
  one.lost();
  EXPECT_FALSE(one.due());
  one.subscribed(at_ms(2000), 0.2);
  EXPECT_EQ(one.due(), at_ms(3000));
}

TEST(LookSchedule, ANumberThatIsMissingIsLookedForAfterARandomPause) {
  auto one = that_has_looked();
  one.heard(1, at_ms(20'000), 0.2);
  one.heard(2, at_ms(20'001), 0.2);
  EXPECT_FALSE(one.due());
  one.heard(4, at_ms(20'002), 0.2);
  EXPECT_EQ(one.due(), at_ms(21'002)) << "not at once: all others miss it, too";
  one.heard(9, at_ms(20'500), 0.9);
  EXPECT_EQ(one.due(), at_ms(21'002)) << "one look for all of them";
}

// Whoever may publish can send numbers that are none.
TEST(LookSchedule, JunkBringsOneLookInTenSeconds) {
  auto one = that_has_looked();
  int looks = 0;
  for (int ms = 0; ms < 60'000; ms += 10) {
    one.heard(static_cast<std::uint64_t>(ms) * 3, at_ms(ms), 0.0);
    if (!one.due() || *one.due() > at_ms(ms)) continue;
    one.sent(at_ms(ms));
    one.answered(outcome::done, at_ms(ms), 0.0);
    ++looks;
  }
  EXPECT_GT(looks, 0);
  EXPECT_LE(looks, 6);
}

TEST(LookSchedule, ALookThatFailedIsRepeatedMoreAndMoreSeldom) {
  look_schedule one(milliseconds{0});
  one.subscribed(at_ms(0), 0);
  auto now = at_ms(0);
  for (int const pause : {5, 10, 20, 40, 60, 60}) {
    one.sent(now);
    one.answered(outcome::failed, now, 0.0);
    EXPECT_EQ(one.due(), now + milliseconds(seconds(pause)) / 2) << "at least half of it";
    now = *one.due();
  }
  one.sent(now);
  one.answered(outcome::failed, now, 0.999);
  EXPECT_GT(one.due(), now + seconds(59));
  EXPECT_LT(one.due(), now + seconds(60));
}

TEST(LookSchedule, OneThatSucceedsBeginsAnewWithThePauses) {
  look_schedule one(milliseconds{0});
  one.subscribed(at_ms(0), 0);
  for (int i = 0; i < 3; ++i) {
    one.sent(at_ms(i));
    one.answered(outcome::failed, at_ms(i), 0);
  }
  one.sent(at_ms(10));
  one.answered(outcome::done, at_ms(10), 0);
  EXPECT_FALSE(one.due());
  one.heard(1, at_ms(30'000), 0);
  one.heard(3, at_ms(30'000), 0);
  one.sent(at_ms(30'000));
  one.answered(outcome::failed, at_ms(30'000), 0);
  EXPECT_EQ(one.due(), at_ms(32'500));
}

TEST(LookSchedule, TheAnswerToALookOfBeforeTheLossChangesNothing) {
  auto one = that_has_looked();
  one.heard(1, at_ms(20'000), 0);
  one.heard(3, at_ms(20'000), 0);
  one.sent(at_ms(20'000));
  one.lost();
  one.answered(outcome::failed, at_ms(20'001), 0);
  EXPECT_FALSE(one.due()) << "it is looked for once it is subscribed again";
  one.subscribed(at_ms(21'000), 0.2);
  EXPECT_EQ(one.due(), at_ms(23'000)) << "that one was cut off";
}

}  // namespace
}  // namespace herdlock::algo
