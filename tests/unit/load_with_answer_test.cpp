// The load machine where who began the load has an answer at hand: he waits for his own loader, and
// for nothing else.
#include "algo/load_machine.hpp"

#include <gtest/gtest.h>

#include "load_events.hpp"

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

class LoadWithAnswer : public ::testing::TestWithParam<load_waiting> {
 protected:
  static clock::time_point at(int ms) { return clock::time_point(milliseconds(ms)); }

  void begin_claiming() {
    EXPECT_EQ(m.resume(load_started{load_guard::guarded}, at(0)).call, load_call::take_free_slot);
    EXPECT_EQ(m.resume(slot_granted{}, at(0)).call, load_call::claim);
  }
  static void expect_end(load_plan const& plan, load_machine const& machine) {
    EXPECT_EQ(plan.call, load_call::none);
    EXPECT_FALSE(plan.answer.has_value()) << "he has one";
    EXPECT_TRUE(machine.done());
  }

  load_machine m{{.claim_ttl = seconds(3),
                  .max_load_time = seconds(60),
                  .waiting = GetParam(),
                  .behind_answer = true,
                  .caller_waits = true}};
};

TEST_P(LoadWithAnswer, HisLoaderRunsAndItsValueIsHisAnswer) {
  begin_claiming();
  EXPECT_EQ(m.resume(granted, at(1)).call, load_call::run_loader);
  EXPECT_EQ(m.resume(loaded, at(2)).call, load_call::fill);
  EXPECT_EQ(m.resume(store_answered::replied, at(2)).answer, load_answer::loaded);
}

TEST_P(LoadWithAnswer, HeDoesNotWaitForASlot) {
  EXPECT_EQ(m.resume(load_started{load_guard::guarded}, at(0)).call, load_call::take_free_slot);
  expect_end(m.resume(everyone_left{}, at(0)), m);
}

TEST_P(LoadWithAnswer, HeDoesNotWaitForAnothersLoad) {
  begin_claiming();
  auto const plan = m.resume(busy(seconds(3)), at(1));
  EXPECT_TRUE(plan.free_slot);
  expect_end(plan, m);
}

TEST_P(LoadWithAnswer, HeDoesNotLoadWithoutTheStore) {
  begin_claiming();
  auto const plan = m.resume(claim_answered{claim_answer::failed}, at(0));
  EXPECT_TRUE(plan.free_slot);
  EXPECT_TRUE(plan.clean_up);
  expect_end(plan, m);
}

TEST_P(LoadWithAnswer, WhenHeLeavesBeforeItBeganItDoesNotBegin) {
  begin_claiming();
  m.resume(everyone_left{}, at(0));
  EXPECT_EQ(m.resume(granted, at(1)).call, load_call::give_up);
}

TEST_P(LoadWithAnswer, WhoeverJoinsWithoutOneIsWaitedFor) {
  begin_claiming();
  m.resume(caller_joined{}, at(0));
  EXPECT_EQ(m.resume(claim_answered{claim_answer::failed}, at(0)).call, load_call::take_slot)
      << "he queues, and needs no claim";
  EXPECT_EQ(m.resume(slot_granted{}, at(1)).call, load_call::run_loader);
}

TEST_P(LoadWithAnswer, WhoeverJoinsWithoutOneWaitsForAnothersLoad) {
  begin_claiming();
  m.resume(caller_joined{}, at(0));
  m.resume(busy(seconds(3)), at(1));
  EXPECT_FALSE(m.done());
}

TEST_P(LoadWithAnswer, AClaimThatWasVoidedOnItsWayIsAskedForAgain) {
  begin_claiming();
  m.resume(load_voided{}, at(0));
  EXPECT_EQ(m.resume(granted, at(1)).call, load_call::give_up);
  EXPECT_EQ(m.resume(store_answered::replied, at(1)).call, load_call::take_slot)
      << "he has no answer any more";
}

TEST_P(LoadWithAnswer, WhoseAnswerWasVoidedWaitsForAnothersLoad) {
  begin_claiming();
  m.resume(load_voided{}, at(0));
  auto const plan = m.resume(busy(seconds(3)), at(1));
  EXPECT_TRUE(plan.free_slot);
  EXPECT_FALSE(m.done()) << "nobody would answer him";
}

TEST_P(LoadWithAnswer, WhoseAnswerWasVoidedLoadsWithoutTheStore) {
  begin_claiming();
  m.resume(load_voided{}, at(0));
  auto const plan = m.resume(claim_answered{claim_answer::failed}, at(0));
  EXPECT_TRUE(plan.clean_up);
  EXPECT_EQ(plan.call, load_call::take_slot);
  EXPECT_EQ(m.resume(slot_granted{}, at(1)).call, load_call::run_loader);
}

TEST_P(LoadWithAnswer, WhoLeavesAfterHisAnswerWasVoidedLeavesNoLoad) {
  begin_claiming();
  m.resume(load_voided{}, at(0));
  m.resume(everyone_left{}, at(0));
  EXPECT_EQ(m.resume(granted, at(1)).call, load_call::give_up);
  EXPECT_EQ(m.resume(store_answered::replied, at(1)).call, load_call::none);
  EXPECT_TRUE(m.done());
}

TEST_P(LoadWithAnswer, WhatIsVoidedAfterHeHasLeftDoesNotBegin) {
  begin_claiming();
  m.resume(everyone_left{}, at(0));
  m.resume(load_voided{}, at(0));
  EXPECT_EQ(m.resume(granted, at(1)).call, load_call::give_up);
  EXPECT_EQ(m.resume(store_answered::replied, at(1)).call, load_call::none);
}

// His loader may refer to what is gone by then.
TEST_P(LoadWithAnswer, WhenHeHasLeftItsClaimNobodyJoins) {
  begin_claiming();
  EXPECT_TRUE(m.resume(everyone_left{}, at(0)).detach);
}

TEST_P(LoadWithAnswer, WhenHeHasLeftWhileItIsClearedNobodyJoins) {
  begin_claiming();
  EXPECT_EQ(m.resume(unreadable, at(0)).call, load_call::clear);
  EXPECT_TRUE(m.resume(everyone_left{}, at(0)).detach);
  expect_end(m.resume(store_answered::replied, at(0)), m);
}

TEST_P(LoadWithAnswer, WhenHeHasLeftWhileItsClaimIsGivenBackNobodyJoins) {
  begin_claiming();
  m.resume(load_voided{}, at(0));
  EXPECT_EQ(m.resume(granted, at(1)).call, load_call::give_up);
  EXPECT_TRUE(m.resume(everyone_left{}, at(1)).detach);
  expect_end(m.resume(store_answered::replied, at(1)), m);
}

TEST_P(LoadWithAnswer, HisLoaderThatRunsIsJoinedAlsoWhenHeHasLeft) {
  begin_claiming();
  m.resume(granted, at(1));
  EXPECT_FALSE(m.resume(everyone_left{}, at(1)).detach);
}

INSTANTIATE_TEST_SUITE_P(Waiting, LoadWithAnswer,
                         ::testing::Values(load_waiting::watch, load_waiting::back_off));

}  // namespace
}  // namespace herdlock::algo
