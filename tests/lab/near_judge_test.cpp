// The judge of `near` and `near-soak`: what it calls broken, and what it does not.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "scenes/near_judge.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock::lab;
using herdlock_test::broken_of;

constexpr std::int64_t ms = 1'000'000;

// Two readers; changes come at 100 ms, 200 ms, …
class NearJudge : public ::testing::Test {
 protected:
  void change() { board_.acknowledge((board_.acknowledged() + 1) * 100 * ms); }
  void answer(std::size_t reader, std::int64_t change, std::int64_t asked_ms,
              std::int64_t fence_ms = 0) {
    board_.note(reader, {.change = change,
                         .acknowledged = board_.acknowledged(),
                         .fence_ns = fence_ms * ms,
                         .asked_ns = asked_ms * ms,
                         .answered_ns = (asked_ms + 1) * ms});
  }
  void answer_behind_a_fence(std::size_t reader, std::int64_t change, std::int64_t asked_ms) {
    answer(reader, change, asked_ms, asked_ms);
  }
  void both_answer(std::int64_t change, std::int64_t asked_ms) {
    answer(0, change, asked_ms);
    answer(1, change, asked_ms);
  }
  near_figures figures() const { return {board_, freeze_}; }
  std::int64_t sum(near_record::count near_record::*what) const { return board_.sum(what); }
  std::string broken(near_promises const& promised = {.max_staleness = 300ms}) const {
    return broken_of([&](judge& by) { judge_near(figures(), promised, by); });
  }

  near_board board_{2, 10, 10};
  near_freeze freeze_{.first_reader = 1, .from_ns = 0, .to_ns = 0};
};

TEST_F(NearJudge, WhatIsNewEverywhereBreaksNothing) {
  change();
  both_answer(1, 104);
  change();
  both_answer(2, 201);
  auto const seen = figures();
  EXPECT_EQ(broken(), "");
  EXPECT_EQ(board_.acknowledged(), 2);
  EXPECT_EQ(sum(&near_record::reads), 4);
  EXPECT_EQ(seen.good.after_ms, 5);
  EXPECT_EQ(seen.good.old_ms, 0);
}

TEST_F(NearJudge, AnOldValueIsCountedFromTheChangeThatFollowedIt) {
  change();
  both_answer(1, 110);
  change();
  change();
  answer(0, 1, 350);  // 2 came at 200 ms, 3 at 300 ms
  both_answer(3, 360);
  EXPECT_EQ(sight_of(board_, 0, 2).old_ms, 150);
  EXPECT_EQ(sight_of(board_, 0, 3).old_ms, 50);
  EXPECT_EQ(sight_of(board_, 0, 2).after_ms, 161) << "3 is no older than 2";
  EXPECT_EQ(sight_of(board_, 1, 2).old_ms, 0);
  EXPECT_EQ(broken(), "");
}

TEST_F(NearJudge, AValueThatIsOlderThanItMayBeIsBroken) {
  change();
  answer(0, 0, 400);
  both_answer(1, 500);
  EXPECT_EQ(broken(), "") << "300 ms is what is promised";
  answer(0, 0, 401);
  EXPECT_EQ(broken(), "an old value was served for 301.0 ms, more than max_staleness, 300 ms")
      << "and it went back";
}

TEST_F(NearJudge, AnOldValueBehindAFenceIsBroken) {
  change();
  both_answer(1, 105);
  answer_behind_a_fence(0, 1, 110);
  EXPECT_EQ(broken(), "");
  answer_behind_a_fence(0, 0, 120);
  EXPECT_EQ(broken(), "1 of 2 reads behind a fence were older than the fence");
}

TEST_F(NearJudge, AChangeThatNeverComesIsBroken) {
  change();
  answer(0, 1, 105);
  EXPECT_EQ(broken(), "1 times a process was never served a change");
}

// What a reader is served behind a freeze is a matter of the freeze; what the others are served
// meanwhile is not.
TEST_F(NearJudge, ChangesOfAFrozenConnectionAreCountedApart) {
  change();
  both_answer(1, 102);
  freeze_.from_ns = 150 * ms;
  change();
  answer(0, 2, 203);
  answer(1, 1, 280);
  freeze_.to_ns = 290 * ms;
  answer(1, 2, 295);
  change();
  both_answer(3, 306);
  auto const seen = figures();
  EXPECT_EQ(seen.good.pairs, 5);
  EXPECT_EQ(seen.good.after_ms, 7);
  EXPECT_EQ(seen.good.old_ms, 0);
  EXPECT_EQ(seen.frozen.pairs, 1);
  EXPECT_EQ(seen.frozen.after_ms, 96);
  EXPECT_EQ(seen.frozen.old_ms, 80);
  EXPECT_TRUE(stood_still(board_, freeze_, 1, 2));
  EXPECT_FALSE(stood_still(board_, freeze_, 0, 2));
  EXPECT_FALSE(stood_still(board_, freeze_, 1, 1)) << "served before the freeze";
  EXPECT_FALSE(stood_still(board_, freeze_, 1, 3)) << "changed behind it";
}

// Its store may have to connect again.
TEST_F(NearJudge, AConnectionIsGoodAgainWhenItHasBroughtSomething) {
  freeze_ = {.first_reader = 1, .from_ns = 50 * ms, .to_ns = 150 * ms};
  change();
  change();
  answer(1, 2, 240);
  change();
  answer(1, 3, 301);
  EXPECT_TRUE(stood_still(board_, freeze_, 1, 1));
  EXPECT_TRUE(stood_still(board_, freeze_, 1, 2)) << "changed behind the freeze";
  EXPECT_FALSE(stood_still(board_, freeze_, 1, 3));
}

// No change came between the thaw and the one in question.
TEST_F(NearJudge, AConnectionIsGoodAgainWhenItHasAnsweredAFence) {
  change();
  both_answer(1, 101);
  freeze_ = {.first_reader = 1, .from_ns = 110 * ms, .to_ns = 150 * ms};
  answer_behind_a_fence(1, 1, 105);
  EXPECT_FALSE(stood_still(board_, freeze_, 1, 1));
  answer_behind_a_fence(1, 1, 160);
  change();
  both_answer(2, 201);
  EXPECT_FALSE(stood_still(board_, freeze_, 1, 2));
  EXPECT_EQ(figures().frozen.pairs, 0);
}

TEST_F(NearJudge, AFenceThatWasAskedForBeforeTheThawSaysNothingOfTheConnection) {
  change();
  both_answer(1, 101);
  freeze_ = {.first_reader = 1, .from_ns = 110 * ms, .to_ns = 150 * ms};
  answer_behind_a_fence(1, 1, 149);
  change();
  both_answer(2, 201);
  EXPECT_TRUE(stood_still(board_, freeze_, 1, 2));
}

TEST_F(NearJudge, AFenceThatIsAnsweredBehindTheNextChangeSaysNothingOfTheTimeBefore) {
  freeze_ = {.first_reader = 1, .from_ns = 50 * ms, .to_ns = 90 * ms};
  near_board::answer const asked{.change = 1, .fence_ns = 95 * ms, .asked_ns = 96 * ms};
  change();
  board_.note(1, asked);
  answer(1, 1, 150);
  EXPECT_TRUE(stood_still(board_, freeze_, 1, 1));
}

TEST_F(NearJudge, WhatWasNeverServedIsCountedWhereItWasMissing) {
  freeze_ = {.first_reader = 1, .from_ns = 50 * ms, .to_ns = 150 * ms};
  change();
  answer(0, 1, 105);
  auto const seen = figures();
  EXPECT_EQ(seen.good.pairs, 1);
  EXPECT_EQ(seen.good.unseen, 0);
  EXPECT_EQ(seen.frozen.unseen, seen.frozen.pairs);
  EXPECT_EQ(seen.unseen(), 1);
}

TEST_F(NearJudge, WhoHasSeenAChangeBeforeItsAcknowledgementHasItAtOnce) {
  answer(0, 1, 90);
  change();
  EXPECT_EQ(sight_of(board_, 0, 1).after_ms, 0);
}

TEST_F(NearJudge, TheExcessIsAddedToWhatIsPromised) {
  near_promises const promised{.max_staleness = 300ms, .excess = 50ms};
  change();
  answer(0, 0, 450);
  both_answer(1, 500);
  EXPECT_EQ(broken(promised), "");
  answer(0, 0, 451);
  EXPECT_EQ(broken(promised),
            "an old value was served for 351.0 ms, more than max_staleness, 300 ms, and 50 ms");
}

TEST_F(NearJudge, TooFewNearHitsShowNothing) {
  near_promises const promised{.max_staleness = 300ms, .share_of_near_hits = 0.8};
  for (int i = 0; i < 5; ++i) both_answer(0, i);
  board_.readers[0].near_hits = 5;
  board_.readers[1].near_hits = 3;
  EXPECT_EQ(broken(promised), "");
  board_.readers[1].near_hits = 2;
  EXPECT_EQ(broken(promised), "near hits 70.0 % of the reads, fewer than 80 %: it shows nothing");
}

// A change may take the value away.
TEST_F(NearJudge, NothingIsAsOldAsTheChangeThatBroughtAValueAgain) {
  near_board::answer nothing{.asked_ns = 50 * ms};
  EXPECT_EQ(board_.age_of(nothing), std::nullopt) << "nobody wrote anything";
  change();
  board_.state->nothing_follows = true;
  nothing.acknowledged = 1;
  EXPECT_EQ(board_.age_of(nothing), std::nullopt) << "it is on its way";
  change();
  nothing.acknowledged = 2;
  EXPECT_EQ(board_.age_of(nothing), std::nullopt) << "it is the latest";
  change();
  EXPECT_EQ(board_.age_of(nothing), std::nullopt) << "3 was not acknowledged when it was asked for";
  nothing.acknowledged = 3;
  nothing.asked_ns = 340 * ms;
  EXPECT_EQ(board_.age_of(nothing), 40 * ms);
  nothing.fence_ns = 339 * ms;
  board_.note(0, nothing);
  EXPECT_EQ(sum(&near_record::stale_fenced), 1);
  EXPECT_EQ(sum(&near_record::gone), 1);
}

// A value of a server that somebody else empties: an answer, and none that is old.
TEST_F(NearJudge, ANothingThatNobodyWroteIsNotOld) {
  change();
  board_.note(0, {.acknowledged = 1, .asked_ns = 600 * ms});
  EXPECT_EQ(sum(&near_record::gone), 1);
  EXPECT_EQ(sum(&near_record::stale), 0);
}

TEST_F(NearJudge, WhatIsOlderThanASecondIsCounted) {
  change();
  answer(0, 0, 1100);
  EXPECT_EQ(sum(&near_record::stale_a_second), 0);
  answer(0, 0, 1101);
  EXPECT_EQ(sum(&near_record::stale_a_second), 1);
  EXPECT_EQ(sum(&near_record::stale), 2);
}

}  // namespace
