// Whose loader runs, when it is asked to stop, and what becomes of its call: each sentence of the
// rule "what a call is given is used only while the call runs".
#include "algo/load_callers.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

constexpr loader_settings no_owned{};
constexpr loader_settings owned{.has_owned = true};
constexpr loader_settings owned_behind{.has_owned = true, .behind_answer = true};
constexpr loader_settings behind{.behind_answer = true};

load_callers loading(loader_of whose, loader_settings settings = no_owned) {
  load_callers m(settings);
  m.begun(whose);
  return m;
}

void expect_quiet(callers_plan const& plan) {
  EXPECT_FALSE(plan.ask_to_stop);
  EXPECT_FALSE(plan.others_look_again);
}

void expect_end(loader_verdict const& said, load_end load, own_answer call) {
  EXPECT_EQ(said.load, load);
  EXPECT_EQ(said.call, call);
}

// ------------------------------------------------------------------------------- who loads

TEST(LoadCallers, TheFirstWhoWaitsLoadsWithHisOwnLoader) {
  EXPECT_EQ(load_callers(no_owned).next(first_caller::has_loader), loader_of::call);
  EXPECT_EQ(load_callers(owned).next(first_caller::has_loader), loader_of::call)
      << "a call's own loader wins for its miss";
}

TEST(LoadCallers, TheCachesLoaderLoadsForWhoBringsNone) {
  EXPECT_EQ(load_callers(owned).next(first_caller::has_none), loader_of::cache);
}

TEST(LoadCallers, NobodyLoadsForNobody) {
  EXPECT_EQ(load_callers(no_owned).next(first_caller::none), loader_of::nobody);
  EXPECT_EQ(load_callers(owned).next(first_caller::none), loader_of::nobody);
}

TEST(LoadCallers, ACallsLoaderNeverRunsBehindAnAnswerWhereTheCacheHasOne) {
  EXPECT_EQ(load_callers(owned_behind).next(first_caller::has_loader), loader_of::cache);
  EXPECT_EQ(load_callers(owned_behind).next(first_caller::none), loader_of::cache);
}

TEST(LoadCallers, WithoutAnOwnedLoaderTheCallThatRefreshesLoadsItself) {
  EXPECT_EQ(load_callers(behind).next(first_caller::has_loader), loader_of::call);
  EXPECT_EQ(load_callers(behind).next(first_caller::none), loader_of::nobody);
}

TEST(LoadCallers, NobodyLoadsWhenTheClaimIsLost) {
  load_callers m(owned_behind);
  m.stop(stop_reason::voided);
  EXPECT_EQ(m.next(first_caller::none), loader_of::nobody);
  EXPECT_EQ(m.next(first_caller::has_loader), loader_of::nobody);
}

// ---------------------------------------------------------------------- when it is asked to stop

TEST(LoadCallers, ALoaderWhoseCallIsOverIsAskedToStopWhenNobodyElseWaits) {
  auto m = loading(loader_of::call);
  EXPECT_TRUE(m.caller_ended(0).ask_to_stop);
}

TEST(LoadCallers, WhileOthersWaitItGoesOn) {
  auto m = loading(loader_of::call);
  expect_quiet(m.caller_ended(2));
}

TEST(LoadCallers, ItIsAskedToStopWhenTheLastOfThemLeavesLater) {
  auto m = loading(loader_of::call);
  m.caller_ended(1);
  EXPECT_TRUE(m.others_left().ask_to_stop);
  expect_quiet(m.others_left());
}

TEST(LoadCallers, WhileItsOwnCallWaitsItGoesOnWhoeverLeaves) {
  auto m = loading(loader_of::call);
  expect_quiet(m.others_left());
}

TEST(LoadCallers, TheCachesLoaderGoesOnWhenEverybodyLeaves) {
  auto m = loading(loader_of::cache, owned);
  expect_quiet(m.others_left());
}

TEST(LoadCallers, TheLossOfTheClaimAsksItToStopAndTheOthersLookAgain) {
  for (auto const why : {stop_reason::voided, stop_reason::claim_lost}) {
    for (auto const whose : {loader_of::call, loader_of::cache}) {
      auto m = loading(whose, owned);
      auto const plan = m.stop(why);
      EXPECT_TRUE(plan.ask_to_stop);
      EXPECT_TRUE(plan.others_look_again);
    }
  }
}

TEST(LoadCallers, TheClosingAsksItToStopAndNobodyLooksAgain) {
  auto m = loading(loader_of::cache, owned);
  auto const plan = m.stop(stop_reason::closing);
  EXPECT_TRUE(plan.ask_to_stop);
  EXPECT_FALSE(plan.others_look_again);
}

TEST(LoadCallers, ItIsAskedOnce) {
  auto m = loading(loader_of::call);
  EXPECT_TRUE(m.caller_ended(0).ask_to_stop);
  auto const plan = m.stop(stop_reason::voided);
  EXPECT_FALSE(plan.ask_to_stop);
  EXPECT_TRUE(plan.others_look_again);
}

TEST(LoadCallers, NobodyIsAskedWhereNoLoaderRuns) {
  load_callers m(no_owned);
  EXPECT_FALSE(m.stop(stop_reason::closing).ask_to_stop);
  m.begun(loader_of::call);
  m.ended(loader_end::value, 0);
  EXPECT_FALSE(m.stop(stop_reason::closing).ask_to_stop);
}

// --------------------------------------------------------------------------------- how it ends

TEST(LoadCallers, AValueIsTheLoadsAndItsCallSharesIt) {
  auto m = loading(loader_of::call);
  expect_end(m.ended(loader_end::value, 0), load_end::result, own_answer::shared);
}

TEST(LoadCallers, AValueCountsWhoeverAskedForTheEnd) {
  auto m = loading(loader_of::call);
  m.caller_ended(0);
  expect_end(m.ended(loader_end::value, 0), load_end::result, own_answer::shared);
  auto lost = loading(loader_of::call);
  lost.stop(stop_reason::claim_lost);
  expect_end(lost.ended(loader_end::value, 0), load_end::result, own_answer::shared);
}

TEST(LoadCallers, AnErrorThatNobodyAskedForIsShared) {
  auto m = loading(loader_of::call);
  expect_end(m.ended(loader_end::error, 3), load_end::result, own_answer::shared);
}

TEST(LoadCallers, OfACallThatIsOverAnErrorIsTheOthersAlone) {
  auto m = loading(loader_of::call);
  m.caller_ended(1);
  expect_end(m.ended(loader_end::error, 1), load_end::result, own_answer::what_it_has);
}

TEST(LoadCallers, AnExceptionBehindTheRequestIsNoEnd) {
  auto m = loading(loader_of::call);
  m.caller_ended(0);
  expect_end(m.ended(loader_end::error, 0), load_end::nothing, own_answer::what_it_has);
}

TEST(LoadCallers, ThenAnotherWhoCameMeanwhileLoadsUnderTheSameClaim) {
  auto m = loading(loader_of::call);
  m.caller_ended(0);
  expect_end(m.ended(loader_end::error, 1), load_end::next, own_answer::what_it_has);
}

TEST(LoadCallers, WithoutTheClaimNobodyLoadsUnderIt) {
  auto m = loading(loader_of::call);
  m.stop(stop_reason::claim_lost);
  expect_end(m.ended(loader_end::error, 1), load_end::nothing, own_answer::error);
}

load_callers stopped(stop_reason why) {
  auto m = loading(loader_of::call);
  m.stop(why);
  return m;
}

TEST(LoadCallers, ACallLoadsASecondTimeOnlyAfterAWriteHasStoppedTheFirst) {
  auto voided = stopped(stop_reason::voided);
  expect_end(voided.ended(loader_end::error, 0), load_end::nothing, own_answer::looks_again);
  auto late = stopped(stop_reason::claim_lost);
  expect_end(late.ended(loader_end::error, 0), load_end::nothing, own_answer::error);
}

TEST(LoadCallers, ACallWhoseLoaderDidNotBeginInTheTimeOfItsClaimLooksAgain) {
  auto late = stopped(stop_reason::claim_lost);
  expect_end(late.ended(loader_end::not_begun, 1), load_end::nothing,
             own_answer::what_it_has_or_looks_again);
  auto voided = stopped(stop_reason::voided);
  expect_end(voided.ended(loader_end::not_begun, 1), load_end::nothing, own_answer::looks_again);
  auto closing = stopped(stop_reason::closing);
  expect_end(closing.ended(loader_end::not_begun, 0), load_end::nothing, own_answer::error);
  auto over = stopped(stop_reason::claim_lost);
  over.caller_ended(0);
  expect_end(over.ended(loader_end::not_begun, 0), load_end::nothing, own_answer::what_it_has);
}

TEST(LoadCallers, ACallThatIsOverDoesNotLookAgain) {
  auto m = loading(loader_of::call);
  m.stop(stop_reason::voided);
  m.caller_ended(0);
  expect_end(m.ended(loader_end::error, 0), load_end::nothing, own_answer::what_it_has);
}

TEST(LoadCallers, ALoaderThatWasDestroyedIsItsOwnCallsTrouble) {
  auto m = loading(loader_of::call);
  expect_end(m.ended(loader_end::unfinished, 1), load_end::next, own_answer::error);
  auto alone = loading(loader_of::call);
  expect_end(alone.ended(loader_end::unfinished, 0), load_end::nothing, own_answer::error);
}

TEST(LoadCallers, OfTheCachesLoaderThatCouldNotBeginAllAreTold) {
  auto m = loading(loader_of::cache, owned);
  expect_end(m.ended(loader_end::unfinished, 2), load_end::result, own_answer::none);
}

TEST(LoadCallers, TheCachesLoaderThatThrowsWhenAskedIsNobodysError) {
  auto m = loading(loader_of::cache, owned);
  m.stop(stop_reason::voided);
  expect_end(m.ended(loader_end::error, 0), load_end::nothing, own_answer::none);
}

TEST(LoadCallers, TheNextLoaderBeginsAnew) {
  auto m = loading(loader_of::call);
  m.caller_ended(0);
  m.ended(loader_end::error, 1);
  m.begun(loader_of::call);
  expect_quiet(m.others_left());
  expect_end(m.ended(loader_end::error, 0), load_end::result, own_answer::shared);
}

TEST(LoadCallers, ARequestCountsForOneEnd) {
  auto m = loading(loader_of::call);
  m.caller_ended(0);
  expect_end(m.ended(loader_end::error, 1), load_end::next, own_answer::what_it_has);
  // What was to be prepared for the next one failed: no loader ran.
  expect_end(m.ended(loader_end::error, 1), load_end::result, own_answer::none);
}

// ---------------------------------------------------------------------------------- many keys

TEST(LoadBundle, ARunBeginsWhenItIsKnownOfAllKeysWhetherItHasThem) {
  load_bundle b(3);
  b.wanted();
  b.decided();
  b.decided();
  EXPECT_FALSE(b.is_due());
  b.decided();
  EXPECT_TRUE(b.is_due());
  load_bundle none(1);
  none.decided();
  EXPECT_FALSE(none.is_due()) << "there is nothing to load";
}

TEST(LoadBundle, AKeyThatIsClaimedAnewIsWaitedFor) {
  load_bundle b(2);
  b.wanted();
  b.decided();
  b.decided();
  b.undecided();
  EXPECT_FALSE(b.is_due());
}

TEST(LoadBundle, NoRunBeginsBesideAnother) {
  load_bundle b(1);
  b.wanted();
  b.decided();
  b.begin();
  EXPECT_TRUE(b.running());
  b.wanted();
  EXPECT_FALSE(b.is_due());
  b.ended();
  EXPECT_TRUE(b.is_due());
}

TEST(LoadBundle, ARunIsUselessWhenAllOfItsKeysAre) {
  load_bundle b(2);
  b.wanted();
  b.wanted();
  b.begin();
  EXPECT_FALSE(b.asked_to_stop());
  EXPECT_FALSE(b.is_useless());
  EXPECT_TRUE(b.asked_to_stop());
  EXPECT_TRUE(b.is_useless());
}

TEST(LoadBundle, TheNextRunCountsForItself) {
  load_bundle b(1);
  b.wanted();
  b.begin();
  b.asked_to_stop();
  b.ended();
  b.wanted();
  b.begin();
  EXPECT_FALSE(b.is_useless());
}

TEST(LoadBundle, ThoseBehindARunAreWokenByTheSizeOfTheLargest) {
  load_bundle b(3);
  b.wanted();
  b.wanted();
  for (int i = 0; i < 3; ++i) b.decided();
  EXPECT_EQ(b.turns(), 0) << "a run is due";
  b.begin();
  EXPECT_EQ(b.turns(), 0) << "it runs";
  b.ended();
  EXPECT_EQ(b.turns(), 2);
  b.wanted();
  b.begin();
  b.ended();
  EXPECT_EQ(b.turns(), 2) << "not of the last run";
}

TEST(LoadBundle, NobodyIsWokenWhileAKeyIsUndecidedOrWaitsForASlot) {
  load_bundle b(1);
  EXPECT_EQ(b.turns(), 0);
  b.decided();
  EXPECT_EQ(b.turns(), 1) << "nothing came of it";
  b.undecided();
  EXPECT_EQ(b.turns(), 0);
  b.decided();
  b.queued();
  EXPECT_EQ(b.turns(), 0);
  b.left_queue();
  EXPECT_EQ(b.turns(), 1);
}

}  // namespace
}  // namespace herdlock::algo
