// Every transition of the load machine, with a clock of the test's own.
#include "algo/load_machine.hpp"

#include <gtest/gtest.h>

#include "load_events.hpp"

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

class LoadMachine : public ::testing::Test {
 protected:
  static load_settings settings(load_waiting waiting) {
    return {.claim_ttl = seconds(3), .max_load_time = seconds(60), .waiting = waiting};
  }
  clock::time_point at(milliseconds since_start) const { return clock::time_point(since_start); }

  // start, slot, claim granted at 0.
  void begin_loading() {
    m.resume(load_started{load_guard::guarded}, at(milliseconds{0}));
    m.resume(slot_granted{}, at(milliseconds{0}));
    EXPECT_EQ(m.resume(granted, at(milliseconds{1})).call, load_call::run_loader);
  }
  void begin_claiming(load_machine& machine) const {
    EXPECT_EQ(machine.resume(load_started{load_guard::guarded}, at(milliseconds{0})).call,
              load_call::take_slot);
    EXPECT_EQ(machine.resume(slot_granted{}, at(milliseconds{0})).call, load_call::claim);
  }

  load_machine m{settings(load_waiting::back_off)};
  load_machine watcher{settings(load_waiting::watch)};
};

TEST_F(LoadMachine, AHitInTheClaimIsTheAnswerAndFreesTheSlot) {
  begin_claiming(m);
  auto const plan = m.resume(claim_answered{claim_answer::hit}, at(milliseconds{0}));
  EXPECT_EQ(plan.answer, load_answer::found);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_TRUE(m.done());
}

TEST_F(LoadMachine, AClaimedKeyIsLoadedAndFilledAndThenAnswered) {
  begin_loading();
  auto plan = m.resume(loaded, at(milliseconds{50}));
  EXPECT_EQ(plan.call, load_call::fill);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_TRUE(plan.detach);
  EXPECT_FALSE(plan.answer.has_value());
  plan = m.resume(store_answered::replied, at(milliseconds{50}));
  EXPECT_EQ(plan.answer, load_answer::loaded);
  EXPECT_TRUE(m.done());
}

// A store that hangs must not keep back a value that we have.
TEST_F(LoadMachine, ASlowFillIsNotWaitedForForLong) {
  begin_loading();
  m.resume(loaded, at(milliseconds{50}));
  EXPECT_EQ(m.due(), at(milliseconds{150}));
  EXPECT_FALSE(m.resume(timer_due{}, at(milliseconds{149})).answer.has_value());
  EXPECT_EQ(m.resume(timer_due{}, at(milliseconds{150})).answer, load_answer::loaded);
  EXPECT_FALSE(m.done());
  auto const plan = m.resume(store_answered::failed, at(milliseconds{150}));
  EXPECT_FALSE(plan.answer.has_value()) << "answered twice";
  EXPECT_TRUE(plan.clean_up);
  EXPECT_TRUE(m.done());
}

// S5
TEST_F(LoadMachine, AFailedLoadIsSharedThroughTheStore) {
  begin_loading();
  EXPECT_EQ(m.resume(loader_done{load_result::failed}, at(milliseconds{5})).call,
            load_call::share_error);
  EXPECT_EQ(m.resume(store_answered::replied, at(milliseconds{5})).answer, load_answer::load_error);
}

TEST_F(LoadMachine, AnUnstorableValueAnswersAndGivesTheClaimUp) {
  begin_loading();
  EXPECT_EQ(m.resume(loader_done{load_result::unstorable}, at(milliseconds{5})).call,
            load_call::give_up);
  EXPECT_EQ(m.resume(store_answered::replied, at(milliseconds{5})).answer, load_answer::loaded);
}

// S5
TEST_F(LoadMachine, AnErrorThatBacksOffIsTheAnswer) {
  begin_claiming(m);
  auto const plan = m.resume(claim_answered{claim_answer::backing_off}, at(milliseconds{0}));
  EXPECT_EQ(plan.answer, load_answer::shared_error);
  EXPECT_TRUE(plan.free_slot);
}

// S4
TEST_F(LoadMachine, BusyBacksOffFromOneMillisecondToTwentyFive) {
  begin_claiming(m);
  auto now = at(milliseconds{0});
  clock::duration longest{};
  for (int i = 0; i < 12; ++i) {
    EXPECT_TRUE(m.resume(busy(seconds(2)), now).free_slot);
    auto const delay = m.due() - now;
    if (i == 0) {
      EXPECT_EQ(delay, milliseconds{1});
    }
    longest = std::max(longest, delay);
    now = m.due();
    EXPECT_EQ(m.resume(timer_due{}, now).call, load_call::take_slot);
    EXPECT_EQ(m.resume(slot_granted{}, now).call, load_call::claim);
  }
  EXPECT_EQ(longest, milliseconds{25});
}

// S2: a claim about to expire is tried when it has expired, not a back-off later.
TEST_F(LoadMachine, TheBackOffIsBoundedByTheClaimsTimeLeft) {
  begin_claiming(m);
  auto now = at(milliseconds{0});
  for (int i = 0; i < 8; ++i) {
    m.resume(busy(seconds(2)), now);
    now = m.due();
    m.resume(timer_due{}, now);
    m.resume(slot_granted{}, now);
  }
  m.resume(busy(milliseconds{3}), now);
  EXPECT_EQ(m.due(), now + milliseconds{3});
}

TEST_F(LoadMachine, AStoreThatPushesIsWatchedUntilTheClaimWouldExpire) {
  begin_claiming(watcher);
  auto const plan = watcher.resume(busy(milliseconds{700}), at(milliseconds{0}));
  EXPECT_EQ(plan.call, load_call::watch);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_EQ(watcher.watch_wait(), milliseconds{701});
  EXPECT_EQ(watcher.resume(watch_answered{watch_answer::hit}, at(milliseconds{0})).answer,
            load_answer::found);
  EXPECT_TRUE(watcher.done());
}

TEST_F(LoadMachine, APushedErrorIsTheAnswer) {
  begin_claiming(watcher);
  watcher.resume(busy(milliseconds{700}), at(milliseconds{0}));
  EXPECT_EQ(watcher.resume(watch_answered{watch_answer::error}, at(milliseconds{0})).answer,
            load_answer::shared_error);
}

// B10: a store whose watch returns at once does not make us spin.
TEST_F(LoadMachine, LookingAgainIsImmediateOnceAndThenBacksOff) {
  begin_claiming(watcher);
  watcher.resume(busy(milliseconds{700}), at(milliseconds{0}));
  EXPECT_EQ(watcher.resume(look_again, at(milliseconds{1})).call, load_call::take_slot);
  watcher.resume(slot_granted{}, at(milliseconds{1}));
  watcher.resume(busy(milliseconds{700}), at(milliseconds{1}));
  EXPECT_EQ(watcher.resume(look_again, at(milliseconds{2})).call, load_call::none);
  EXPECT_EQ(watcher.due(), at(milliseconds{3}));
}

// S9
TEST_F(LoadMachine, AClaimThatFailsIsCleanedUpAndTheLoadGoesOnWithoutTheStore) {
  begin_claiming(m);
  auto plan = m.resume(claim_answered{claim_answer::failed}, at(milliseconds{0}));
  EXPECT_TRUE(plan.clean_up);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_EQ(plan.call, load_call::take_slot);
  EXPECT_EQ(m.guard(), load_guard::unguarded);
  EXPECT_EQ(m.resume(slot_granted{}, at(milliseconds{1})).call, load_call::run_loader);
  plan = m.resume(loaded, at(milliseconds{2}));
  EXPECT_EQ(plan.call, load_call::none) << "nothing is written";
  EXPECT_EQ(plan.answer, load_answer::loaded);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_TRUE(m.done());
}

TEST_F(LoadMachine, AnUnguardedLoadThatFailsAnswersItsOwnCallers) {
  m.resume(load_started{load_guard::unguarded}, at(milliseconds{0}));
  m.resume(slot_granted{}, at(milliseconds{0}));
  EXPECT_EQ(m.resume(loader_done{load_result::failed}, at(milliseconds{1})).answer,
            load_answer::load_error);
}

TEST_F(LoadMachine, AWatchThatFailsGoesOnWithoutTheStore) {
  begin_claiming(watcher);
  watcher.resume(busy(milliseconds{700}), at(milliseconds{0}));
  EXPECT_EQ(watcher.resume(watch_answered{watch_answer::failed}, at(milliseconds{0})).call,
            load_call::take_slot);
  EXPECT_EQ(watcher.guard(), load_guard::unguarded);
}

// S1: without rights for the pushes there is still one load among all processes.
TEST_F(LoadMachine, AWatchThatIsDeniedBacksOffAndClaimsAgainFromThenOn) {
  begin_claiming(watcher);
  EXPECT_EQ(watcher.resume(busy(seconds(2)), at(milliseconds{0})).call, load_call::watch);
  EXPECT_EQ(watcher.resume(watch_answered{watch_answer::denied, 0.5}, at(milliseconds{1})).call,
            load_call::none);
  EXPECT_EQ(watcher.resume(timer_due{}, watcher.due()).call, load_call::take_slot);
  EXPECT_EQ(watcher.resume(slot_granted{}, at(milliseconds{5})).call, load_call::claim);
  EXPECT_EQ(watcher.guard(), load_guard::guarded);
  EXPECT_EQ(watcher.resume(busy(seconds(2)), at(milliseconds{6})).call, load_call::none);
  EXPECT_LT(watcher.due(), at(milliseconds{100})) << "not watched again";
}

TEST_F(LoadMachine, ALoadThatDidNotEndIsNotSharedThroughTheStore) {
  begin_loading();
  EXPECT_EQ(m.resume(loader_done{load_result::unfinished}, at(milliseconds{50})).call,
            load_call::give_up);
  EXPECT_EQ(m.resume(store_answered::replied, at(milliseconds{50})).answer,
            load_answer::load_error);
}

// S3
TEST_F(LoadMachine, TheClaimIsExtendedAtAThirdForAsLongAsTheLoaderRuns) {
  begin_loading();
  for (int i = 1; i <= 5; ++i) {
    auto const now = at(seconds(i));
    EXPECT_EQ(m.due(), now);
    EXPECT_EQ(m.resume(timer_due{}, now).call, load_call::extend);
    EXPECT_EQ(m.resume(timer_due{}, now).call, load_call::none) << "one extension at a time";
    m.resume(extend_answered::renewed, now);
  }
}

TEST_F(LoadMachine, AnExtensionThatFailsIsTriedAgainSoon) {
  begin_loading();
  m.resume(timer_due{}, at(seconds(1)));
  m.resume(extend_answered::failed, at(milliseconds{1100}));
  EXPECT_EQ(m.due(), at(milliseconds{1400}));
  EXPECT_EQ(m.resume(timer_due{}, m.due()).call, load_call::extend);
}

// S6
TEST_F(LoadMachine, ALostClaimIsSignalledAndItsValueIsNotStored) {
  begin_loading();
  m.resume(timer_due{}, at(seconds(1)));
  auto plan = m.resume(extend_answered::lost, at(seconds(1)));
  EXPECT_TRUE(plan.signal_lost);
  EXPECT_TRUE(plan.detach);
  plan = m.resume(loaded, at(seconds(2)));
  EXPECT_EQ(plan.call, load_call::none);
  EXPECT_EQ(plan.answer, load_answer::loaded);
}

TEST_F(LoadMachine, AClaimThatCannotBeExtendedIsLostWhenItsTimeIsUp) {
  begin_loading();
  m.resume(timer_due{}, at(seconds(1)));  // sent, and no reply comes
  EXPECT_EQ(m.due(), at(seconds(3)));
  auto const plan = m.resume(timer_due{}, at(seconds(3)));
  EXPECT_TRUE(plan.signal_lost);
  EXPECT_TRUE(plan.clean_up) << "it may stand in the store a little longer";
}

// B3: hung work is not kept alive for ever.
TEST_F(LoadMachine, AfterTheLongestLoadTimeTheClaimIsLeftToExpire) {
  begin_loading();
  int extensions = 0;
  bool lost = false;
  for (int i = 0; i < 200 && !lost; ++i) {
    auto const now = m.due();
    auto const plan = m.resume(timer_due{}, now);
    lost = plan.signal_lost;
    if (plan.call == load_call::extend) {
      ++extensions;
      m.resume(extend_answered::renewed, now);
    }
  }
  EXPECT_TRUE(lost);
  EXPECT_NEAR(extensions, 60, 2);
}

TEST_F(LoadMachine, ALateTimerDoesNotExtendBeyondTheLongestLoadTime) {
  begin_loading();
  for (int i = 1; i < 60; ++i) {
    m.resume(timer_due{}, at(seconds(i)));
    m.resume(extend_answered::renewed, at(seconds(i)));
  }
  EXPECT_EQ(m.due(), at(seconds(60)));
  EXPECT_EQ(m.resume(timer_due{}, at(seconds(61))).call, load_call::none);
}

TEST_F(LoadMachine, PutOrInvalidateOfThisCacheVoidsTheLoadAtOnce) {
  begin_loading();
  auto const plan = m.resume(load_voided{}, at(milliseconds{1}));
  EXPECT_TRUE(plan.signal_lost);
  EXPECT_TRUE(plan.detach);
  EXPECT_TRUE(m.claim_is_lost());
  EXPECT_FALSE(plan.clean_up) << "would wake others to a load that is about to be voided";
  auto const end = m.resume(loaded, at(seconds(1)));
  EXPECT_EQ(end.call, load_call::none);
  EXPECT_TRUE(end.clean_up) << "the put may have failed";
}

TEST_F(LoadMachine, AClaimThatWasVoidedOnItsWayIsGivenBackAndAskedForAgain) {
  begin_claiming(m);
  EXPECT_TRUE(m.resume(load_voided{}, at(milliseconds{0})).detach);
  auto plan = m.resume(granted, at(milliseconds{1}));
  EXPECT_EQ(plan.call, load_call::give_up);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_EQ(m.resume(store_answered::replied, at(milliseconds{1})).call, load_call::take_slot);
  EXPECT_EQ(m.resume(slot_granted{}, at(milliseconds{2})).call, load_call::claim);
  EXPECT_EQ(m.resume(granted, at(milliseconds{3})).call, load_call::run_loader);

  begin_claiming(watcher);
  watcher.resume(load_voided{}, at(milliseconds{0}));
  watcher.resume(granted, at(milliseconds{1}));
  plan = watcher.resume(store_answered::failed, at(milliseconds{1}));
  EXPECT_TRUE(plan.clean_up);
  EXPECT_EQ(watcher.guard(), load_guard::unguarded) << "the clean-up must not meet its own claim";
}

TEST_F(LoadMachine, AnUnguardedLoadThatHangsIsNotJoinedForEver) {
  m.resume(load_started{load_guard::unguarded}, at(milliseconds{0}));
  m.resume(slot_granted{}, at(milliseconds{0}));
  EXPECT_EQ(m.due(), at(seconds(60)));
  auto const plan = m.resume(timer_due{}, at(seconds(60)));
  EXPECT_TRUE(plan.detach);
  EXPECT_TRUE(plan.signal_lost);
  EXPECT_EQ(m.resume(loaded, at(seconds(61))).answer, load_answer::loaded);
}

// S7
TEST_F(LoadMachine, ARunningLoaderGoesOnAndFillsWhenEveryoneLeft) {
  begin_loading();
  EXPECT_EQ(m.resume(everyone_left{}, at(milliseconds{1})).call, load_call::none);
  EXPECT_FALSE(m.done());
  EXPECT_EQ(m.resume(loaded, at(seconds(1))).call, load_call::fill);
}

TEST_F(LoadMachine, WaitingEndsWhenEveryoneLeft) {
  m.resume(load_started{load_guard::guarded}, at(milliseconds{0}));
  m.resume(everyone_left{}, at(milliseconds{0}));
  EXPECT_TRUE(m.done());
  EXPECT_TRUE(m.resume(slot_granted{}, at(milliseconds{0})).free_slot);
  begin_claiming(watcher);
  watcher.resume(busy(milliseconds{10}), at(milliseconds{0}));
  watcher.resume(everyone_left{}, at(milliseconds{0}));
  EXPECT_TRUE(watcher.done());
  EXPECT_EQ(watcher.resume(look_again, at(milliseconds{1})).call, load_call::none);
}

TEST_F(LoadMachine, AClaimGrantedAfterEveryoneLeftIsGivenUpWithoutALoad) {
  begin_claiming(m);
  m.resume(everyone_left{}, at(milliseconds{0}));
  auto const plan = m.resume(granted, at(milliseconds{1}));
  EXPECT_EQ(plan.call, load_call::give_up);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_TRUE(plan.detach);
}

TEST_F(LoadMachine, WhoeverJoinsAnAbandonedClaimGetsItsLoad) {
  begin_claiming(m);
  m.resume(everyone_left{}, at(milliseconds{0}));
  m.resume(caller_joined{}, at(milliseconds{0}));
  EXPECT_EQ(m.resume(granted, at(milliseconds{1})).call, load_call::run_loader);
}

TEST_F(LoadMachine, AnUnreadableEntryIsClearedOnceAndThenClaimed) {
  begin_claiming(m);
  auto plan = m.resume(unreadable, at(milliseconds{0}));
  EXPECT_EQ(plan.call, load_call::clear);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_EQ(m.resume(store_answered::replied, at(milliseconds{0})).call, load_call::take_slot);
  m.resume(slot_granted{}, at(milliseconds{1}));
  plan = m.resume(unreadable, at(milliseconds{1}));
  EXPECT_EQ(plan.call, load_call::take_slot) << "two formats must not fight";
  EXPECT_EQ(m.guard(), load_guard::unguarded);
}

TEST_F(LoadMachine, ARefusalOfTheStoreIsTheAnswer) {
  begin_claiming(m);
  auto const plan = m.resume(claim_answered{claim_answer::refused}, at(milliseconds{0}));
  EXPECT_EQ(plan.answer, load_answer::refused);
  EXPECT_TRUE(plan.free_slot);
}

TEST_F(LoadMachine, ClosingGivesUpTheClaimAndAnswers) {
  begin_loading();
  auto plan = m.resume(load_closed{}, at(milliseconds{1}));
  EXPECT_EQ(plan.answer, load_answer::closed);
  EXPECT_TRUE(plan.signal_lost);
  EXPECT_TRUE(plan.clean_up);
  EXPECT_TRUE(plan.free_slot);
  EXPECT_FALSE(m.resume(load_closed{}, at(milliseconds{1})).answer.has_value());
  EXPECT_FALSE(m.resume(loaded, at(seconds(1))).free_slot) << "freed twice";

  begin_claiming(watcher);
  watcher.resume(load_closed{}, at(milliseconds{0}));
  EXPECT_TRUE(watcher.resume(granted, at(milliseconds{9})).clean_up) << "no ghost claim (B7)";
}

TEST_F(LoadMachine, ClosingDuringTheFillAnswersWithTheValue) {
  begin_loading();
  m.resume(loaded, at(milliseconds{5}));
  EXPECT_EQ(m.resume(load_closed{}, at(milliseconds{5})).answer, load_answer::loaded);
}

}  // namespace
}  // namespace herdlock::algo
