#include <gtest/gtest.h>

#include "stores/redis/redlock/voting_delay.hpp"

namespace herdlock::redis {
namespace {

using std::chrono_literals::operator""h;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using server = voting_delay::server;

voting_delay::time_point at(milliseconds when) { return voting_delay::time_point{} + when; }

struct RedlockVotingDelay : testing::Test {
  RedlockVotingDelay() { one.begin(60s, "node"); }
  bool votes(milliseconds when) const { return one.refusal(at(when)) == nullptr; }
  std::string why_not(milliseconds when) const {
    auto const* const why = one.refusal(at(when));
    return why ? why->message : "it votes";
  }
  voting_delay one;
};

TEST_F(RedlockVotingDelay, AServerThatRunsForLongVotesAtOnce) {
  one.met({"a", 61s}, at(1s));
  EXPECT_TRUE(votes(1s));
}

TEST_F(RedlockVotingDelay, AServerThatWasStartedLatelyWaitsForTheRest) {
  one.met({"a", 20s}, at(1s));
  EXPECT_FALSE(votes(42300ms));
  EXPECT_TRUE(votes(43s));
}

// A server that was started at the end of one second of its clock says 1 s as the next begins.
TEST_F(RedlockVotingDelay, ASecondThatMayNotHaveBeenWholeDoesNotCount) {
  one.met({"a", 1s}, at(1s));
  EXPECT_FALSE(votes(61s));
  EXPECT_TRUE(votes(62s));
}

// It has run for long, somewhere else: it does not know what the former one has granted, which may
// have gone on to serve others after we lost it.
TEST_F(RedlockVotingDelay, AnotherServerInItsPlaceWaitsFromTheMeetingWithIt) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 1h}, at(30s));
  EXPECT_FALSE(votes(89s));
  EXPECT_NE(why_not(30s).find("another server has taken its place"), std::string::npos);
  EXPECT_TRUE(votes(91s));
}

TEST_F(RedlockVotingDelay, AnotherServerWaitsAlsoWhenTheFormerOneWasLostForLongerThanTheDelay) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 1h}, at(200s));
  EXPECT_FALSE(votes(259s));
  EXPECT_TRUE(votes(261s));
}

TEST_F(RedlockVotingDelay, ToMeetTheOtherServerAgainDoesNotShortenItsDelay) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 1h}, at(11s));
  one.lost(at(12s));
  one.met({"b", 1h}, at(13s));
  one.lost(at(14s));
  one.met({"", 1h}, at(15s));
  one.met({"", 55s}, at(15s));
  EXPECT_FALSE(votes(70s));
  EXPECT_NE(why_not(15s).find("another server has taken its place"), std::string::npos);
  EXPECT_TRUE(votes(72s));
}

TEST_F(RedlockVotingDelay, EachServerThatComesBeginsTheDelayAnew) {
  one.met({"a", 1h}, at(1s));
  one.met({"b", 1h}, at(10s));
  one.met({"a", 1h}, at(40s));
  EXPECT_FALSE(votes(99s)) << "it does not know what the one in between has granted";
  EXPECT_TRUE(votes(101s));
}

TEST_F(RedlockVotingDelay, OneThatWasStartedBeforeTheOtherWasMetDoesNotShortenItsDelay) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 1h}, at(40s));
  one.lost(at(50s));
  one.met({"c", 50s}, at(90s));
  EXPECT_FALSE(votes(100s));
  one.lost(at(95s));
  one.met({"c", 105s}, at(145s));
  EXPECT_TRUE(votes(145s));
}

TEST_F(RedlockVotingDelay, ARestartDuringTheDelayCountsFromTheStart) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 1h}, at(11s));
  one.lost(at(30s));
  one.met({"c", 5s}, at(36s));
  EXPECT_FALSE(votes(90s));
  EXPECT_TRUE(votes(93s));
}

// It was started lately, but before the former one was lost: so it is no restart of that one.
TEST_F(RedlockVotingDelay, AnotherServerInItsPlaceWaitsFromTheLossOfTheFormerOne) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"a", 1h}, at(11s));
  one.lost(at(20s));
  one.lost(at(40s));
  one.met({"b", 45s}, at(60s));
  EXPECT_FALSE(votes(79s));
  EXPECT_TRUE(votes(81s));
}

TEST_F(RedlockVotingDelay, AServerThatWasRestartedWhileNobodyReachedItWaitsNoLongerThanNeeded) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 59s}, at(200s));
  EXPECT_FALSE(votes(200s));
  EXPECT_TRUE(votes(203s));
}

// It may run for a second more than it says, and is then no restart within the delay.
TEST_F(RedlockVotingDelay, AnotherServerThatMayBeOlderThanTheDelayWaitsForAllOfIt) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 60s}, at(200s));
  EXPECT_FALSE(votes(259s));
  EXPECT_TRUE(votes(261s));
}

TEST_F(RedlockVotingDelay, TheSameServerOverAnotherConnectionVotesOn) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"a", 1h}, at(11s));
  EXPECT_TRUE(votes(11s));
}

TEST_F(RedlockVotingDelay, WithoutARunIdTheUptimeAloneCounts) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"", 1h}, at(11s));
  EXPECT_TRUE(votes(11s));
}

TEST_F(RedlockVotingDelay, WithoutADelayNobodyWaits) {
  voting_delay none;
  none.begin(0ms, "node");
  none.met({"a", 0s}, at(1s));
  none.met({"b", 0s}, at(2s));
  EXPECT_EQ(none.refusal(at(2s)), nullptr);
}

}  // namespace
}  // namespace herdlock::redis
