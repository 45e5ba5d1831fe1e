// Until when it may be served, and what a fence proves. R1 to R15 are the rules of
// docs/known-bugs.md.
#include <utility>

#include "near_fixture.hpp"

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

// R6: for how long a connection is trusted.

TEST_F(NearMachine, ASilentConnectionIsTrustedForMaxStalenessFromWhenTrackingWasAskedFor) {
  auto const over = connect();
  keep(over, "k", 1);
  EXPECT_EQ(hit("k", 999ms), 1);
  EXPECT_EQ(hit("k", 1000ms), std::nullopt);
}

TEST_F(NearMachine, APongIsWorthMaxStalenessFromWhenItsPingWasSent) {
  auto const over = connect();
  keep(over, "k", 1);
  EXPECT_LE(machine.due(), near_start + 334ms) << "a third";
  tick(400ms);
  ASSERT_EQ(pings[over].size(), 1u);
  pong(over, pings[over][0], 0, 900ms);  // late
  EXPECT_EQ(hit("k", 1399ms), 1);
  EXPECT_EQ(hit("k", 1400ms), std::nullopt);
}

TEST_F(NearMachine, APongThatComesTooLateIsWorthNothingAndTheNextOneRevivesWhatIsKept) {
  auto const over = connect();
  keep(over, "k", 1);
  tick(400ms);
  tick(1300ms);
  pong(over, pings[over].at(0), 0, 1500ms);
  EXPECT_EQ(hit("k", 1500ms), std::nullopt);
  pong(over, pings[over].at(1), 0, 1600ms);
  EXPECT_EQ(hit("k", 1600ms), 1) << "no push was missed";
}

// A server that has lost the slots of what was read over it refuses the question.
TEST_F(NearMachine, ARefusedPingEndsWhatWasReadUntilALaterOneIsAnswered) {
  auto const over = connect();
  keep(over, "k", 1);
  auto const on_its_way = read(over, "late", 300ms);
  tick(400ms);
  refuse(over, pings[over].at(0), 410ms);
  EXPECT_EQ(hit("k", 410ms), std::nullopt);
  EXPECT_FALSE(fill("late", on_its_way, 1, 420ms)) << "it may have been read before";
  keep(over, "fresh", 2, 420ms);
  EXPECT_EQ(hit("fresh", 430ms), std::nullopt) << "nothing is known of the connection";
  EXPECT_LE(machine.due(), near_start + 460ms) << "all is read from the server meanwhile";
  tick(460ms);
  pong(over, pings[over].at(1), 0, 470ms);
  EXPECT_EQ(hit("fresh", 1000ms), 2);
  EXPECT_EQ(hit("k", 1000ms), std::nullopt) << "for good";
}

TEST_F(NearMachine, AServerThatRefusesEachPingIsAskedNoMoreOften) {
  auto const over = connect();
  std::size_t sent = 0;
  for (auto now = 0ms; now < 10s; now += 1ms) {
    if (machine.due() > near_start + now) continue;
    tick(now);
    for (auto const number : std::exchange(pings[over], {})) {
      ++sent;
      refuse(over, number, now);
    }
  }
  EXPECT_GE(sent, 29u) << "and no less often";
  EXPECT_LE(sent, 31u) << "the second one came soon";
}

TEST_F(NearMachine, WhereEnoughPingsAreUnderWayNoneIsDueSoon) {
  auto const over = connect();
  for (auto now = 0ms; now < 2s; now += 1ms) {
    if (machine.due() <= near_start + now) tick(now);
  }
  ASSERT_EQ(pings[over].size(), connection_trust::most_regular_pings);
  refuse(over, 0, 2s);  // nobody knows of it
  tick(2050ms);
  EXPECT_GT(machine.due(), near_start + 2050ms);
}

TEST_F(NearMachine, AFencePassesWhereItsPingIsRefused) {
  auto const over = connect();
  keep(over, "k", 1);
  fence(100ms);
  ASSERT_EQ(pings[over].size(), 1u);
  EXPECT_EQ(passed_fence, 0u);
  refuse(over, pings[over][0], 110ms);
  EXPECT_EQ(passed_fence, 1u);
  EXPECT_EQ(hit("k", 110ms), std::nullopt);
}

// R6: a PONG is believed only behind the pushes that came before it on the wire.
TEST_F(NearMachine, APongIsNotBelievedBeforeThePushesInFrontOfIt) {
  auto const over = connect();
  keep(over, "a", 1);
  keep(over, "b", 1);
  keep(over, "c", 1);
  tick(400ms);
  pong(over, pings[over].at(0), 2, 500ms);  // two pushes are in other hands yet
  EXPECT_EQ(hit("a", 1100ms), std::nullopt);
  push(over, "a", 1100ms);
  EXPECT_EQ(hit("b", 1100ms), std::nullopt) << "one of two";
  push(over, "b", 1100ms);
  EXPECT_EQ(hit("b", 1100ms), std::nullopt);
  EXPECT_EQ(hit("c", 1100ms), 1) << "believed now";
}

TEST_F(NearMachine, AFlushIsAPushInFrontOfAPongAsWell) {
  auto const over = connect();
  tick(400ms);
  pong(over, pings[over].at(0), 1, 500ms);
  apply(machine.flushed(over, near_start + 600ms));
  keep(over, "k", 1, 600ms);
  EXPECT_EQ(hit("k", 1399ms), 1);
}

TEST_F(NearMachine, AnUnknownPongProvesNothing) {
  auto const over = connect();
  keep(over, "k", 1);
  tick(400ms);
  pong(over, pings[over].at(0) + 1, 0, 500ms);
  pong(over, 0, 0, 500ms);
  EXPECT_EQ(hit("k", 1000ms), std::nullopt);
}

TEST_F(NearMachine, APongOfOneServerIsNoneOfAnother) {
  auto const one = connect();
  auto const two = connect();
  keep(one, "a", 1);
  keep(two, "b", 2);
  tick(400ms);
  pong(two, pings[two].at(0), 0, 500ms);
  EXPECT_EQ(hit("a", 1000ms), std::nullopt);
  EXPECT_EQ(hit("b", 1000ms), 2);
}

TEST_F(NearMachine, PingsGoOnAtEachThirdAndAreBoundedWhereNobodyAnswers) {
  auto const over = connect();
  for (auto at = 0ms; at < 100s; at += 50ms) {
    if (machine.due() <= near_start + at) tick(at);
  }
  EXPECT_EQ(pings[over].size(), connection_trust::most_regular_pings);
  for (std::uint64_t const number : std::vector(pings[over])) pong(over, number, 0, 100s);
  tick(101s);
  EXPECT_EQ(pings[over].size(), connection_trust::most_regular_pings + 1);
}

// R9: fences.

TEST_F(NearMachine, AFencePassesWithThePongOfAPingThatWasSentForIt) {
  auto const over = connect();
  tick(400ms);
  fence(450ms);
  ASSERT_EQ(pings[over].size(), 2u);
  pong(over, pings[over][0], 0, 460ms);
  EXPECT_EQ(passed_fence, 0u) << "that PING was sent before";
  pong(over, pings[over][1], 0, 470ms);
  EXPECT_EQ(passed_fence, machine.last_fence());
}

TEST_F(NearMachine, AFenceDoesNotPassBeforeThePushesInFrontOfItsPong) {
  auto const over = connect();
  keep(over, "k", 1);
  fence(1ms);
  pong(over, pings[over].at(0), 1, 2ms);
  EXPECT_EQ(passed_fence, 0u);
  push(over, "k", 3ms);
  EXPECT_EQ(passed_fence, 1u);
  EXPECT_EQ(hit("k", 3ms), std::nullopt);
}

TEST_F(NearMachine, AFenceAsksEveryServer) {
  auto const one = connect();
  auto const two = connect();
  fence(1ms);
  pong(two, pings[two].at(0), 0, 2ms);
  EXPECT_EQ(passed_fence, 0u);
  pong(one, pings[one].at(0), 0, 3ms);
  EXPECT_EQ(passed_fence, 1u);
}

TEST_F(NearMachine, FencesThatComeWhileOneIsUnderWayShareTheNext) {
  auto const over = connect();
  for (auto at = 1ms; at < 100ms; at += 1ms) fence(at);
  ASSERT_EQ(pings[over].size(), 1u);
  pong(over, pings[over][0], 0, 100ms);
  EXPECT_EQ(passed_fence, 1u);
  ASSERT_EQ(pings[over].size(), 2u);
  pong(over, pings[over][1], 0, 101ms);
  EXPECT_EQ(passed_fence, 99u);
  EXPECT_EQ(pings[over].size(), 2u);
}

TEST_F(NearMachine, WithoutConnectionsAFencePassesAtOnce) {
  fence(1ms);
  EXPECT_EQ(passed_fence, 1u);
}

TEST_F(NearMachine, AFencePassesWithTheLossOfTheConnectionThatItWaitsFor) {
  auto const over = connect();
  keep(over, "k", 1);
  fence(1ms);
  apply(machine.lost(over, near_start + 2ms));
  EXPECT_EQ(passed_fence, 1u);
  EXPECT_EQ(hit("k", 2ms), std::nullopt);
}

// A server that hangs holds no fence up for longer than it is trusted; what it may have missed is
// not revived by a PONG of a PING from before the fence.
TEST_F(NearMachine, AFenceOverAServerThatHangsPassesWhenItIsNotTrustedAnyMore) {
  auto const over = connect();
  keep(over, "k", 1);
  auto const stamp = read(over, "on its way");
  tick(400ms);
  fence(500ms);
  tick(999ms);
  EXPECT_EQ(passed_fence, 0u);
  EXPECT_LE(machine.due(), near_start + 1000ms);
  tick(1000ms);
  EXPECT_EQ(passed_fence, 1u);
  pong(over, pings[over].at(0), 0, 1100ms);
  EXPECT_EQ(hit("k", 1100ms), std::nullopt);
  EXPECT_FALSE(fill("on its way", stamp, 1, 1100ms));
  EXPECT_TRUE(keep(over, "k", 2, 1100ms));
  EXPECT_EQ(hit("k", 1100ms), 2);
}

TEST_F(NearMachine, AFenceOverAServerThatIsNotTrustedPassesAtOnceAndDropsWhatWasRead) {
  auto const over = connect();
  keep(over, "k", 1);
  tick(900ms);
  fence(1100ms);
  EXPECT_EQ(passed_fence, 1u);
  pong(over, pings[over].at(0), 0, 1200ms);
  EXPECT_EQ(hit("k", 1200ms), std::nullopt);
}

}  // namespace
}  // namespace herdlock::algo
