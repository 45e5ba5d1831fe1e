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
  voting_delay one;
};

TEST_F(RedlockVotingDelay, AServerThatRunsForLongVotesAtOnce) {
  one.met({"a", 60s}, at(1s));
  EXPECT_TRUE(votes(1s));
}

TEST_F(RedlockVotingDelay, AServerThatWasStartedLatelyWaitsForTheRest) {
  one.met({"a", 20s}, at(1s));
  EXPECT_FALSE(votes(41s));
  EXPECT_TRUE(votes(42s));
}

// It has run for long, somewhere else: it does not know what the former one has granted.
TEST_F(RedlockVotingDelay, AnotherServerInItsPlaceWaitsFromTheLossOfTheFormerOne) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 1h}, at(30s));
  EXPECT_FALSE(votes(69s));
  EXPECT_NE(one.refusal(at(30s))->message.find("another server has taken its place"),
            std::string::npos);
  EXPECT_TRUE(votes(71s));
}

TEST_F(RedlockVotingDelay, ToBeToldOfALossAgainChangesNothing) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.lost(at(40s));
  one.met({"b", 1h}, at(70s));
  EXPECT_TRUE(votes(70s));
}

TEST_F(RedlockVotingDelay, AServerThatWasRestartedWhileNobodyReachedItWaitsNoLongerThanNeeded) {
  one.met({"a", 1h}, at(1s));
  one.lost(at(10s));
  one.met({"b", 100s}, at(200s));
  EXPECT_TRUE(votes(200s));
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
