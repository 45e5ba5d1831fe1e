// What a lock protects, shown each fault of a lock.
#include <gtest/gtest.h>

#include <herdlock/lock.hpp>

#include "stage/guarded_thing.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using lab::guarded_thing;

auto const soon = clock::now() + 1h;
auto const before = clock::now() - 1ms;

TEST(GuardedThing, OneAfterTheOtherWithRisingTokensIsNoFault) {
  guarded_thing thing;
  for (std::uint64_t token : {1, 2, 7}) {
    auto const spot = thing.enter(token);
    EXPECT_TRUE(thing.occupied());
    EXPECT_TRUE(thing.write(token));
    thing.leave(spot);
    EXPECT_FALSE(thing.occupied());
  }
  auto const seen = thing.seen();
  EXPECT_EQ(seen.entries, 3);
  EXPECT_EQ(seen.writes, 3);
  EXPECT_EQ(seen.overlaps + seen.steps_back + seen.lost + seen.refused, 0);
}

TEST(GuardedThing, TwoInsideAreAnOverlap) {
  guarded_thing thing;
  thing.enter(1);
  thing.enter(2);
  EXPECT_EQ(thing.seen().overlaps, 1);
}

TEST(GuardedThing, WhoEntersWhileAnothersLeaseIsValidOverlaps) {
  guarded_thing thing;
  thing.enter(1, soon);
  thing.enter(2, soon);
  EXPECT_EQ(thing.seen().overlaps, 1);
}

TEST(GuardedThing, ALeaseThatHasEndedKeepsNobodyOut) {
  guarded_thing thing;
  thing.enter(1, before);
  auto const ended = thing.enter(2, soon);
  thing.end(ended);
  thing.enter(3, soon);
  EXPECT_EQ(thing.seen().overlaps, 0);
  EXPECT_TRUE(thing.occupied());
}

TEST(GuardedThing, ALeaseThatGoesOnKeepsOthersOut) {
  guarded_thing thing;
  auto const spot = thing.enter(1, before);
  thing.stay(spot, soon);
  thing.enter(2, soon);
  EXPECT_EQ(thing.seen().overlaps, 1);
}

TEST(GuardedThing, WhatHasEndedDoesNotBeginAgain) {
  guarded_thing thing;
  auto const spot = thing.enter(1, soon);
  thing.end(spot);
  thing.stay(spot, soon);
  thing.enter(2, soon);
  EXPECT_EQ(thing.seen().overlaps, 0);
}

TEST(GuardedThing, ATokenThatDoesNotRiseIsAStepBack) {
  guarded_thing thing;
  for (std::uint64_t token : {5, 5, 3, 4}) thing.leave(thing.enter(token));
  EXPECT_EQ(thing.seen().steps_back, 3);
}

TEST(GuardedThing, NoTokenIsNoStepBack) {
  guarded_thing thing;
  for (int i = 0; i < 2; ++i) thing.leave(thing.enter(0));
  EXPECT_EQ(thing.seen().steps_back, 0);
}

TEST(GuardedThing, ALateWriteIsRefused) {
  guarded_thing thing;
  thing.leave(thing.enter(1));
  thing.leave(thing.enter(2));
  EXPECT_FALSE(thing.write(1));
  EXPECT_TRUE(thing.write(2));
  EXPECT_EQ(thing.seen().refused, 1);
  EXPECT_EQ(thing.writes(), 1);
}

TEST(GuardedThing, MoreThanThereIsRoomForIsAnOverlap) {
  guarded_thing thing;
  for (std::uint64_t token = 1; token <= guarded_thing::spots; ++token) thing.enter(token, before);
  EXPECT_EQ(thing.seen().overlaps, 0);
  thing.leave(thing.enter(guarded_thing::spots + 1, soon));
  EXPECT_EQ(thing.seen().overlaps, 1);
}

TEST(GuardedThing, FindingsAddUp) {
  guarded_thing::findings sum{1, 2, 3, 4, 5, 6};
  sum += {10, 20, 30, 40, 50, 60};
  EXPECT_EQ(sum.entries, 11);
  EXPECT_EQ(sum.overlaps, 22);
  EXPECT_EQ(sum.steps_back, 33);
  EXPECT_EQ(sum.lost, 44);
  EXPECT_EQ(sum.refused, 55);
  EXPECT_EQ(sum.writes, 66);
}

// Leases of a real store: one that is taken away is lost when it hears of it.
class GuardedThingAndLeases : public testing::Test {
 protected:
  lease held() { return *where_.acquire({.ttl = 30s}); }
  lease lost() {
    lease taken = held();
    where_.force_release();
    EXPECT_EQ(taken.renew(), renew_reply::lost);
    return taken;
  }

  lock where_{open_store("memory:"), "guarded"};
  guarded_thing thing_;
};

TEST_F(GuardedThingAndLeases, TwoWithAValidLeaseOverlap) {
  thing_.enter(1, soon);
  lease const mine = held();
  auto const spot = thing_.enter(mine);
  EXPECT_EQ(thing_.seen().overlaps, 1);
  thing_.leave(spot, mine);
  EXPECT_EQ(thing_.seen().lost, 0);
}

TEST_F(GuardedThingAndLeases, WhoseOwnLeaseHasEndedOverlapsNobody) {
  thing_.enter(1, soon);
  thing_.enter(lost());
  EXPECT_EQ(thing_.seen().overlaps, 0);
}

TEST_F(GuardedThingAndLeases, WhoStaysWithALostLeaseKeepsNobodyOut) {
  lease mine = held();
  auto const spot = thing_.enter(mine);
  where_.force_release();
  EXPECT_EQ(mine.renew(), renew_reply::lost);
  thing_.stay(spot, mine);
  thing_.enter(held());
  EXPECT_EQ(thing_.seen().overlaps, 0);
}

TEST_F(GuardedThingAndLeases, WhoLeavesWithAnEndedLeaseHasLostIt) {
  lease const mine = lost();
  thing_.leave(thing_.enter(mine), mine);
  EXPECT_EQ(thing_.seen().lost, 1);
}

}  // namespace
