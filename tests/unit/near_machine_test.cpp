// What may be kept of what was read: stamps, flushes, connections, own writes. R1 to R15 are the
// rules of docs/known-bugs.md.
#include "near_fixture.hpp"

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

// R1: stamps.

TEST_F(NearMachine, WhatWasReadIsKeptAndServed) {
  auto const over = connect();
  EXPECT_TRUE(keep(over, "k", 1));
  EXPECT_EQ(hit("k"), 1);
  EXPECT_EQ(hit("other"), std::nullopt);
}

TEST_F(NearMachine, APushDropsTheKeyThatItNamesAndNoOther) {
  auto const over = connect();
  keep(over, "a", 1);
  keep(over, "b", 2);
  push(over, "a");
  EXPECT_EQ(hit("a"), std::nullopt);
  EXPECT_EQ(hit("b"), 2);
}

// R1: the stamp is of the time before the read was sent, not of its reply.
TEST_F(NearMachine, APushBetweenTheReadAndItsReplyRefusesTheFill) {
  auto const over = connect();
  auto const stamp = read(over, "k");
  push(over, "k");
  EXPECT_FALSE(fill("k", stamp, 1));
  EXPECT_TRUE(keep(over, "k", 2)) << "the next one may";
}

// R1: never check, then insert.
TEST_F(NearMachine, AFillIsJudgedWhenItIsInsertedAndNotWhenItsReplyCame) {
  auto const over = connect();
  auto const stamp = read(over, "k");
  ASSERT_TRUE(machine.fill("k", *stamp, {.from = over}, near_start)) << "as the reply comes";
  push(over, "k");  // while the value is decoded
  EXPECT_FALSE(fill("k", stamp, 1));
  EXPECT_EQ(hit("k"), std::nullopt);
}

TEST_F(NearMachine, APushOfSeveralKeysRefusesTheFillOfEach) {
  auto const over = connect();
  auto const a = read(over, "a");
  auto const b = read(over, "b");
  keep(over, "a", 1);
  std::string_view const keys[] = {"a", "b"};
  apply(machine.invalidated(over, keys, near_start));
  EXPECT_FALSE(fill("a", a, 1));
  EXPECT_FALSE(fill("b", b, 1));
  EXPECT_EQ(hit("a"), std::nullopt);
}

// R3: a push counts for a read over any connection.
TEST_F(NearMachine, APushOverOneConnectionRefusesAFillOverAnother) {
  auto const one = connect();
  auto const two = connect();
  auto const stamp = read(two, "k");
  push(one, "k");
  EXPECT_FALSE(fill("k", stamp, 1));
}

// The bound: reads under way take no memory; keys that share a stripe refuse each other's fills.
class NearMachineOfOneStripe : public NearMachine {
 protected:
  NearMachineOfOneStripe() : NearMachine({.stripes = 1}) {}
};

TEST_F(NearMachineOfOneStripe, KeysThatShareAStripeAreRefusedForEachOtherAndServedAllTheSame) {
  auto const over = connect();
  auto const stamp = read(over, "a");
  keep(over, "kept", 3);
  push(over, "b");
  EXPECT_FALSE(fill("a", stamp, 1));
  EXPECT_EQ(hit("kept"), 3);
  EXPECT_TRUE(keep(over, "a", 1));
}

// R2: the null push, a reconnect and the end kill what is in flight, too (the bug of node-redis).

TEST_F(NearMachine, AFlushDropsWhatIsKeptAndRefusesWhatIsOnItsWay) {
  auto const over = connect();
  keep(over, "kept", 1);
  auto const stamp = read(over, "k");
  apply(machine.flushed(over, near_start));
  EXPECT_EQ(hit("kept"), std::nullopt);
  EXPECT_FALSE(fill("k", stamp, 1));
  EXPECT_TRUE(keep(over, "k", 2)) << "what is read behind the flush";
  EXPECT_EQ(hit("k"), 2);
}

TEST_F(NearMachine, AFlushOfOneServerLeavesTheOtherAlone) {
  auto const one = connect();
  auto const two = connect();
  keep(one, "a", 1);
  keep(two, "b", 2);
  apply(machine.flushed(one, near_start));
  EXPECT_EQ(hit("a"), std::nullopt);
  EXPECT_EQ(hit("b"), 2);
}

TEST_F(NearMachine, DropAllDropsAndRefusesForEachConnection) {
  auto const one = connect();
  auto const two = connect();
  keep(one, "a", 1);
  keep(two, "b", 2);
  auto const stamp = read(two, "c");
  apply(machine.drop_all());  // R11: SWAPDB by us
  EXPECT_EQ(hit("a"), std::nullopt);
  EXPECT_EQ(hit("b"), std::nullopt);
  EXPECT_FALSE(fill("c", stamp, 1));
}

// R4: connections.

TEST_F(NearMachine, NothingMayFillBeforeTheServerPushes) {
  auto const over = *machine.connected(near_start);
  EXPECT_FALSE(read(over, "k"));
  apply(machine.tracking_on(over));
  EXPECT_TRUE(read(over, "k"));
}

// R4: late replies of the old connection carry an old generation.
TEST_F(NearMachine, ALostConnectionDropsWhatWasReadAndItsLateRepliesAreRefused) {
  auto const old = connect();
  keep(old, "kept", 1);
  auto const stamp = read(old, "k");
  apply(machine.lost(old, near_start));
  EXPECT_EQ(hit("kept"), std::nullopt);
  auto const fresh = connect();
  EXPECT_FALSE(fill("k", stamp, 1));
  EXPECT_FALSE(fill("k", *stamp, {.from = fresh}, 1, 0ms));
  EXPECT_EQ(hit("kept"), std::nullopt) << "the new connection knows nothing of it";
  EXPECT_TRUE(keep(fresh, "k", 2));
}

// R15: what was read from one server is not what another one says under the same name.
TEST_F(NearMachine, EachConnectionHasAGenerationOfItsOwn) {
  auto const one = connect();
  auto const two = connect();
  auto const a = machine.fill("a", *read(one, "a"), {.from = one}, near_start);
  auto const b = machine.fill("b", *read(two, "b"), {.from = two}, near_start);
  EXPECT_NE(a->generation, b->generation);
}

TEST_F(NearMachine, LateEventsOfAnOldConnectionChangeNothingButTheKeyOfAPush) {
  auto const old = connect();
  tick(400ms);
  auto const number = pings[old].at(0);
  apply(machine.lost(old, near_start));
  auto const fresh = connect();
  keep(fresh, "a", 1);
  keep(fresh, "b", 2);
  pong(old, number, 0, 500ms);
  apply(machine.flushed(old, near_start));
  apply(machine.lost(old, near_start));
  push(old, "a");
  EXPECT_EQ(hit("a"), std::nullopt) << "harmless, and never wrong";
  EXPECT_EQ(hit("b"), 2);
}

TEST_F(NearMachine, OneConnectionMoreThanTheBoundIsNotUsed) {
  std::vector<near_connection> all;
  for (std::size_t i = 0; i < most_near_connections; ++i) all.push_back(connect());
  EXPECT_FALSE(machine.connected(near_start));
  apply(machine.lost(all.front(), near_start));
  EXPECT_TRUE(machine.connected(near_start));
}

// R5: never silently incoherent.

TEST_F(NearMachine, WhereTrackingIsRefusedNothingIsKept) {
  auto const over = *machine.connected(near_start);
  apply(machine.tracking_refused(over));
  EXPECT_EQ(machine.coverage(over), near_coverage::off);
  EXPECT_FALSE(read(over, "k"));
}

class NearMachineUntracked : public NearMachine {
 protected:
  NearMachineUntracked() : NearMachine({.untracked_age = 300ms}) {}
};

TEST_F(NearMachineUntracked, WhereTrackingIsRefusedEntriesLiveForTheAgeThatWasAskedFor) {
  auto const over = *machine.connected(near_start);
  apply(machine.tracking_refused(over));
  EXPECT_EQ(machine.coverage(over), near_coverage::aged);
  EXPECT_TRUE(fill("k", read(over, "k"), 1, 100ms));
  EXPECT_EQ(hit("k", 299ms), 1);
  EXPECT_EQ(hit("k", 300ms), std::nullopt) << "counted from when it was sent";
  EXPECT_EQ(machine.due(), clock::time_point::max()) << "no PING proves anything here";
}

TEST_F(NearMachineUntracked, WithoutPushesAFenceDropsWhatIsKept) {
  auto const over = *machine.connected(near_start);
  apply(machine.tracking_refused(over));
  keep(over, "k", 1);
  auto const stamp = read(over, "on its way");
  fence(1ms);
  EXPECT_EQ(passed_fence, 1u);
  EXPECT_EQ(hit("k", 1ms), std::nullopt);
  EXPECT_FALSE(fill("on its way", stamp, 1, 1ms));
}

TEST_F(NearMachineUntracked, ATrackedConnectionIsNotBoundByThatAge) {
  auto const over = connect();
  keep(over, "k", 1);
  EXPECT_EQ(hit("k", 301ms), 1);
}

// R7: a server with NOLOOP keeps to itself what another cache of this process, or a script, writes
// over the same connection.
TEST_F(NearMachine, TrackingIsAskedForWithoutNoloopAndWithoutRedirect) {
  auto const words = near_tracking_command();
  std::vector<std::string_view> const said(words.begin(), words.end());
  EXPECT_EQ(said, (std::vector<std::string_view>{"CLIENT", "TRACKING", "ON", "OPTIN"}));
}

// R8: own writes.

TEST_F(NearMachine, AnOwnWriteDropsItsKeyBeforeItIsSent) {
  auto const over = connect();
  keep(over, "k", 1);
  apply(machine.write_sent("k"));
  EXPECT_EQ(hit("k"), std::nullopt);
}

TEST_F(NearMachine, AReadFromBeforeAnOwnWriteIsRefused) {
  auto const over = connect();
  auto const stamp = read(over, "k");
  apply(machine.write_sent("k"));
  EXPECT_FALSE(fill("k", stamp, 1));
  machine.write_ended("k");
  EXPECT_FALSE(fill("k", stamp, 1));
}

TEST_F(NearMachine, NothingIsKeptOfAKeyWhileAnOwnWriteIsUnderWay) {
  auto const over = connect();
  apply(machine.write_sent("k"));
  EXPECT_FALSE(keep(over, "k", 1));
  apply(machine.write_sent("k"));
  machine.write_ended("k");
  EXPECT_FALSE(keep(over, "k", 1)) << "the other one is";
  machine.write_ended("k");
  EXPECT_TRUE(keep(over, "k", 2));
}

// R8, rueidis#534: the read overtook the write, on another connection.
TEST_F(NearMachine, AReadThatWasSentDuringAnOwnWriteIsRefusedAfterIt) {
  auto const over = connect();
  apply(machine.write_sent("k"));
  auto const stamp = read(over, "k");  // executed before the write
  machine.write_ended("k");
  EXPECT_FALSE(fill("k", stamp, 1));
  EXPECT_TRUE(keep(over, "k", 2));
}

TEST_F(NearMachine, AWriteThatEndsTwiceOpensNothing) {
  auto const over = connect();
  machine.write_ended("k");
  apply(machine.write_sent("k"));
  EXPECT_FALSE(keep(over, "k", 1));
}

// R12, R13: pushes for keys that nobody keeps cost a stamp; none is an order to read or to ask.
TEST_F(NearMachine, APushAsksForNothing) {
  auto const over = connect();
  std::string_view const key = "never read";
  for (near_action const& one : machine.invalidated(over, std::span(&key, 1), near_start)) {
    EXPECT_EQ(one.what, near_action::kind::drop_key);
  }
  EXPECT_TRUE(keep(over, "k", 1));
}

}  // namespace
}  // namespace herdlock::algo
