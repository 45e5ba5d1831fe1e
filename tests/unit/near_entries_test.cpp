// When entries end by themselves: expiry, slots, negative ones. R1 to R15 are the rules of
// docs/known-bugs.md.
#include "near_fixture.hpp"

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

// R10: expiry.

TEST_F(NearMachine, AnEntryExpiresWithTheTimeLeftToItsKeyCountedFromBeforeTheRead) {
  auto const over = connect();
  auto const stamp = read(over, "k");
  ASSERT_TRUE(fill("k", *stamp, {.from = over, .left = 100ms}, 1, 60ms));
  EXPECT_EQ(hit("k", 99ms), 1);
  EXPECT_EQ(hit("k", 100ms), std::nullopt);
}

TEST_F(NearMachine, WhatHasExpiredOnItsWayIsNotKept) {
  auto const over = connect();
  auto const stamp = read(over, "k");
  EXPECT_FALSE(fill("k", *stamp, {.from = over, .left = 100ms}, 1, 100ms));
}

TEST_F(NearMachine, TheLongestTimeLeftIsNoOverflow) {
  auto const over = connect();
  EXPECT_TRUE(fill("k", *read(over, "k"), {.from = over, .left = milliseconds::max()}, 1, 0ms));
  EXPECT_EQ(hit("k"), 1);
}

class NearMachineWithAge : public NearMachine {
 protected:
  NearMachineWithAge() : NearMachine({.max_age = 200ms}) {}
};

TEST_F(NearMachineWithAge, AnEntryExpiresWithTheShorterOfBoth) {
  auto const over = connect();
  fill("a", *read(over, "a"), {.from = over, .left = 100ms}, 1, 0ms);
  fill("b", *read(over, "b"), {.from = over, .left = 300ms}, 2, 0ms);
  EXPECT_EQ(hit("a", 100ms), std::nullopt);
  EXPECT_EQ(hit("b", 199ms), 2);
  EXPECT_EQ(hit("b", 200ms), std::nullopt);
}

// Those that rest on it would end with it, however young they are.
TEST_F(NearMachineWithAge, ASupportEndsOnlyInTheStore) {
  auto const over = connect();
  fill("a", *read(over, "a"), {.from = over, .what = near_answer::found::support, .left = 300ms}, 1,
       0ms);
  EXPECT_EQ(hit("a", 299ms), 1);
  EXPECT_EQ(hit("a", 300ms), std::nullopt);
}

// R11: slots, MOVED, ASK, negative entries.

TEST_F(NearMachine, ANegativeEntryIsServedAndDroppedByAPush) {
  auto const over = connect();
  EXPECT_TRUE(fill_negative("k", *read(over, "k")));
  EXPECT_EQ(hit("k", 999ms), 0);
  push(over, "k", 999ms);
  EXPECT_EQ(hit("k", 999ms), std::nullopt);
}

TEST_F(NearMachine, WithOneServerANegativeEntryOutlivesAFence) {
  auto const over = connect();
  fill_negative("k", *read(over, "k"));
  fence(1ms);
  pong(over, pings[over].at(0), 0, 2ms);
  EXPECT_EQ(hit("k", 3ms), 0);
}

TEST_F(NearCluster, AMovedSlotDropsItsKeysAndRefusesWhatIsOnItsWay) {
  auto const over = connect();
  keep(over, "a", 1);
  fill_negative("b", *read(over, "b"));
  auto const value = read(over, "c");
  auto const negative = read(over, "d");
  apply(machine.slot_moved(7));
  EXPECT_EQ(hit("a"), std::nullopt);
  EXPECT_EQ(hit("b"), std::nullopt);
  EXPECT_FALSE(fill("c", value, 1));
  EXPECT_FALSE(fill_negative("d", *negative));
}

TEST_F(NearCluster, AnotherSlotThatMovedDropsNothing) {
  auto const over = connect();
  keep(over, "a", 1);
  apply(machine.slot_moved(8));
  EXPECT_EQ(hit("a"), 1);
}

TEST_F(NearCluster, AnAnswerFromAnotherServerThanWasAskedIsNotKept) {
  auto const one = connect();
  auto const two = connect();
  EXPECT_FALSE(fill("k", *read(one, "k"), {.from = two}, 1, 0ms));
}

TEST_F(NearCluster, AskDropsTheNegativeEntriesOfItsServerAndThoseOnTheirWay) {
  auto const one = connect();
  auto const two = connect();
  keep(one, "value", 1);
  fill_negative("gone", *read(one, "gone"));
  fill_negative("elsewhere", *read(two, "elsewhere"));
  auto const stamp = read(one, "on its way");
  auto const value = read(one, "found");
  apply(machine.asked(one));
  EXPECT_EQ(hit("gone"), std::nullopt);
  EXPECT_FALSE(fill_negative("on its way", *stamp));
  EXPECT_EQ(hit("value"), 1) << "its server pushes when it goes";
  EXPECT_TRUE(fill("found", value, 2));
  EXPECT_EQ(hit("elsewhere"), 0);
}

// No push tells that the slot of a missing key has moved, and no error, while it is served here.
TEST_F(NearCluster, ANegativeEntryLivesForMaxStalenessAtMost) {
  auto const over = connect();
  auto const stamp = read(over, "k");
  tick(400ms);
  pong(over, pings[over].at(0), 0, 400ms);
  ASSERT_TRUE(fill_negative("k", *stamp, 400ms));
  EXPECT_EQ(hit("k", 999ms), 0);
  EXPECT_EQ(hit("k", 1000ms), std::nullopt);
}

// R9 and R11: the key was written at the new owner of its slot, and the old one does not say so.
TEST_F(NearCluster, AFenceDropsNegativeEntriesAndThoseOnTheirWay) {
  auto const over = connect();
  keep(over, "value", 1);
  fill_negative("k", *read(over, "k"));
  auto const stamp = read(over, "on its way");
  fence(1ms);
  pong(over, pings[over].at(0), 0, 2ms);
  EXPECT_EQ(passed_fence, 1u);
  EXPECT_EQ(hit("k", 2ms), std::nullopt);
  EXPECT_FALSE(fill_negative("on its way", *stamp, 2ms));
  EXPECT_EQ(hit("value", 2ms), 1);
}

TEST_F(NearCluster, NegativeEntriesAreTrustedNoLongerThanTheirConnection) {
  auto const over = connect();
  fill_negative("k", *read(over, "k", 900ms), 900ms);
  EXPECT_EQ(hit("k", 999ms), 0);
  EXPECT_EQ(hit("k", 1000ms), std::nullopt);
}

TEST_F(NearCluster, ALostConnectionDropsItsNegativeEntriesToo) {
  auto const over = connect();
  fill_negative("k", *read(over, "k"));
  apply(machine.lost(over, near_start));
  EXPECT_EQ(hit("k"), std::nullopt);
}

}  // namespace
}  // namespace herdlock::algo
