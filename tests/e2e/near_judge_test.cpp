// The judge of `herdlock demo near`: what it calls broken, and what it does not.
#include <gtest/gtest.h>

#include "scenes/near_judge.hpp"

namespace {

using namespace std::chrono_literals;
using herdlock::cli::broken_promises;
using herdlock::cli::count;
using herdlock::cli::exit_code;
using herdlock::cli::near_board;
using herdlock::cli::near_figures;
using herdlock::cli::near_freeze;
using herdlock::cli::sight_of;
using herdlock::cli::stood_still;

constexpr std::int64_t ms = 1'000'000;

// Two readers; changes come at 100 ms, 200 ms, …
class NearJudge : public ::testing::Test {
 protected:
  void change() { board_.acknowledge((board_.acknowledged() + 1) * 100 * ms); }
  void answer(std::size_t reader, std::int64_t change, std::int64_t asked_ms) {
    board_.note(reader, {.change = change,
                         .acknowledged = board_.acknowledged(),
                         .asked_ns = asked_ms * ms,
                         .answered_ns = (asked_ms + 1) * ms});
  }
  void answer_behind_a_fence(std::size_t reader, std::int64_t change, std::int64_t asked_ms) {
    board_.note_fenced(reader, {.change = change,
                                .acknowledged = board_.acknowledged(),
                                .asked_ns = asked_ms * ms,
                                .answered_ns = (asked_ms + 1) * ms});
  }
  void both_answer(std::int64_t change, std::int64_t asked_ms) {
    answer(0, change, asked_ms);
    answer(1, change, asked_ms);
  }
  near_figures figures() const { return count(board_, freeze_); }
  std::vector<std::string> broken() const { return broken_promises(figures(), 300ms); }

  near_board board_{2, 10};
  near_freeze freeze_{.first_reader = 1, .from_ns = 0, .to_ns = 0};
};

TEST_F(NearJudge, WhatIsNewEverywhereBreaksNothing) {
  change();
  both_answer(1, 104);
  change();
  both_answer(2, 201);
  auto const seen = figures();
  EXPECT_EQ(broken(), std::vector<std::string>{});
  EXPECT_EQ(seen.changes, 2);
  EXPECT_EQ(seen.reads, 4);
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
  EXPECT_EQ(broken(), std::vector<std::string>{});
}

TEST_F(NearJudge, AValueThatIsOlderThanItMayBeIsBroken) {
  change();
  answer(0, 0, 400);
  both_answer(1, 500);
  EXPECT_EQ(broken(), std::vector<std::string>{}) << "300 ms is what is promised";
  answer(0, 0, 401);
  ASSERT_EQ(broken().size(), 1u) << "and it went back";
  EXPECT_NE(broken()[0].find("for 301.0 ms"), std::string::npos) << broken()[0];
}

TEST_F(NearJudge, AnOldValueBehindAFenceIsBroken) {
  change();
  both_answer(1, 105);
  answer_behind_a_fence(0, 1, 110);
  EXPECT_EQ(broken(), std::vector<std::string>{});
  answer_behind_a_fence(0, 0, 120);
  ASSERT_EQ(broken().size(), 1u);
  EXPECT_NE(broken()[0].find("1 of 2 reads behind a fence"), std::string::npos) << broken()[0];
}

TEST_F(NearJudge, AChangeThatNeverComesIsBroken) {
  change();
  answer(0, 1, 105);
  ASSERT_EQ(broken().size(), 1u);
  EXPECT_NE(broken()[0].find("1 time"), std::string::npos) << broken()[0];
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
  near_board::answer const asked{.change = 1, .acknowledged = 0, .asked_ns = 95 * ms};
  change();
  board_.note_fenced(1, asked);
  answer(1, 1, 150);
  EXPECT_TRUE(stood_still(board_, freeze_, 1, 1));
}

TEST_F(NearJudge, WhatWasNeverServedIsCountedWhereItWasMissing) {
  freeze_ = {.first_reader = 1, .from_ns = 50 * ms, .to_ns = 150 * ms};
  change();
  answer(0, 1, 105);
  auto const seen = figures();
  EXPECT_TRUE(seen.good.any_seen());
  EXPECT_EQ(seen.good.unseen, 0);
  EXPECT_FALSE(seen.frozen.any_seen());
  EXPECT_EQ(seen.unseen(), 1);
}

TEST(NearBoard, KeepsTheFirstComplaintAndItsStatus) {
  near_board board(1, 1);
  EXPECT_EQ(board.why().text(), "");
  board.why().raise(exit_code::usage, "first");
  board.why().raise(exit_code::internal, "second");
  EXPECT_EQ(board.why().text(), "first");
  EXPECT_EQ(board.why().status(), exit_code::usage);
}

TEST_F(NearJudge, WhoHasSeenAChangeBeforeItsAcknowledgementHasItAtOnce) {
  answer(0, 1, 90);
  change();
  EXPECT_EQ(sight_of(board_, 0, 1).after_ms, 0);
}

}  // namespace
