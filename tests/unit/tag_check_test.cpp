// What an entry with tags is worth by what is known of them (R22).
#include "algo/tag_check.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

constexpr auto max_age = 1000ms;

clock::time_point at(milliseconds when) { return clock::time_point(when); }

tag_record record(std::uint64_t lives, std::uint64_t is_fresh) {
  return {{lives, is_fresh}, false, clock::time_point::max()};
}
tag_record made_stale(tag_record one) {
  one.made_stale = true;
  return one;
}

class TagCheck : public ::testing::Test {
 protected:
  void told(std::optional<tag_record> const& found, milliseconds sent, char const* tag = "t") {
    check.told(tag, found, at(sent));
  }
  tag_verdict judge(tag_generations made_in, milliseconds came, milliseconds now) const {
    return check.judge({{"t", made_in}}, at(came), at(now));
  }
  tag_need need(milliseconds asked, milliseconds now, milliseconds ends = 0ms) const {
    return check.need("t", {at(asked), at(ends)}, at(now));
  }

  tag_check check{max_age};
};

TEST_F(TagCheck, ATagThatNobodyAskedForIsAskedFor) {
  EXPECT_EQ(judge({1, 1}, 0ms, 0ms), tag_verdict::ask);
  EXPECT_EQ(need(0ms, 0ms), tag_need::read);
}

TEST_F(TagCheck, AnEntryThatAgreesIsFreshForTheAgeOfTheRecordAndNoLonger) {
  told(record(1, 1), 100ms);
  EXPECT_EQ(judge({1, 1}, 500ms, 500ms), tag_verdict::fresh);
  EXPECT_EQ(judge({1, 1}, 1100ms, 1100ms), tag_verdict::fresh);
  EXPECT_EQ(judge({1, 1}, 1101ms, 1101ms), tag_verdict::ask);
}

TEST_F(TagCheck, ARecordThatWasAskedForBehindTheEntryIsNeverTooOldForIt) {
  told(record(1, 1), 100ms);
  EXPECT_EQ(judge({1, 1}, 100ms, 5000ms), tag_verdict::fresh);
  EXPECT_EQ(judge({2, 1}, 100ms, 5000ms), tag_verdict::gone);
}

TEST_F(TagCheck, GenerationsAreComparedForEqualityAndNotByOrder) {
  told(record(5, 5), 100ms);
  EXPECT_EQ(judge({4, 5}, 50ms, 200ms), tag_verdict::gone);
  EXPECT_EQ(judge({6, 5}, 50ms, 200ms), tag_verdict::gone);
  EXPECT_EQ(judge({5, 4}, 50ms, 200ms), tag_verdict::stale);
  EXPECT_EQ(judge({5, 6}, 50ms, 200ms), tag_verdict::stale);
  EXPECT_EQ(judge({0, 0}, 50ms, 200ms), tag_verdict::gone);
}

// A tag that a loader names is trusted if it was known before: an end since has made another
// record.
TEST_F(TagCheck, ARecordIsKnownSinceTheFirstAnswerWithItsGenerations) {
  EXPECT_EQ(check.known_since("t"), clock::time_point::max());
  check.told("t", record(1, 1), at(100ms), at(150ms));
  EXPECT_EQ(check.known_since("t"), at(150ms));
  check.told("t", record(1, 1), at(200ms), at(250ms));
  EXPECT_EQ(check.known_since("t"), at(150ms));
  check.told("t", record(1, 2), at(300ms), at(350ms));
  EXPECT_EQ(check.known_since("t"), at(350ms));
  check.told("t", std::nullopt, at(400ms), at(450ms));
  EXPECT_EQ(check.known_since("t"), clock::time_point::max());
  check.made("t", record(3, 3), at(500ms));
  EXPECT_EQ(check.known_since("t"), at(500ms));
}

TEST_F(TagCheck, WithoutARecordTheTagHasChanged) {
  told(std::nullopt, 100ms);
  EXPECT_EQ(judge({1, 1}, 50ms, 200ms), tag_verdict::gone);
  EXPECT_EQ(judge({0, 0}, 50ms, 200ms), tag_verdict::gone) << "missing is not 0";
}

TEST_F(TagCheck, ARecordFromBeforeTheEntryDoesNotEndIt) {
  told(record(1, 1), 100ms);
  EXPECT_EQ(judge({2, 2}, 150ms, 200ms), tag_verdict::ask);
  EXPECT_EQ(judge({1, 2}, 150ms, 200ms), tag_verdict::ask);
  told(std::nullopt, 120ms);
  EXPECT_EQ(judge({2, 2}, 150ms, 200ms), tag_verdict::ask);
  told(record(2, 2), 150ms);
  EXPECT_EQ(judge({2, 2}, 150ms, 200ms), tag_verdict::fresh);
}

TEST_F(TagCheck, ARecordThatWasMadeStaleMakesItsEntriesStale) {
  told(made_stale(record(1, 1)), 100ms);
  EXPECT_EQ(judge({1, 1}, 150ms, 200ms), tag_verdict::stale);
  EXPECT_EQ(judge({2, 1}, 50ms, 200ms), tag_verdict::gone);
}

TEST_F(TagCheck, AReplyThatComesLateIsNoNews) {
  told(record(2, 2), 200ms);
  told(record(1, 1), 100ms);
  EXPECT_EQ(judge({2, 2}, 300ms, 300ms), tag_verdict::fresh);
}

// 1. the record is being stored  2. a read is sent, and carried out before that  3. both end
TEST_F(TagCheck, AReadThatWasSentWhileTheRecordWasMadeDoesNotHideIt) {
  told(std::nullopt, 200ms);
  check.made("t", record(1, 1), at(100ms));
  EXPECT_EQ(judge({1, 1}, 300ms, 300ms), tag_verdict::fresh);
  EXPECT_EQ(need(300ms, 300ms), tag_need::none);
  check.changed("t", at(400ms));
  check.made("t", record(2, 2), at(399ms));
  EXPECT_EQ(judge({2, 2}, 500ms, 500ms), tag_verdict::ask) << "it may have been ended since";
}

TEST_F(TagCheck, WhatWasAskedBeforeAnOwnChangeSaysNothing) {
  told(record(1, 1), 100ms);
  check.changed("t", at(200ms));
  EXPECT_EQ(judge({1, 1}, 250ms, 250ms), tag_verdict::ask);
  told(record(1, 1), 199ms);
  EXPECT_EQ(judge({1, 1}, 250ms, 250ms), tag_verdict::ask) << "it was on its way";
  EXPECT_TRUE(check.record("t")) << "an entry made of it has ended, and nothing worse";
  told(record(3, 3), 200ms);
  EXPECT_EQ(judge({3, 3}, 250ms, 250ms), tag_verdict::fresh);
}

TEST_F(TagCheck, BehindAFenceAllTagsAreAskedForAnew) {
  told(record(1, 1), 100ms);
  told(record(1, 1), 100ms, "u");
  check.changed_all(at(200ms));
  told(record(1, 1), 150ms);
  EXPECT_EQ(judge({1, 1}, 250ms, 250ms), tag_verdict::ask);
  EXPECT_EQ(check.judge({{"u", {1, 1}}}, at(250ms), at(250ms)), tag_verdict::ask);
  EXPECT_EQ(need(250ms, 250ms), tag_need::read);
}

// Else a process that fences all the time would come to no verdict, and load what is there.
TEST_F(TagCheck, AFenceConcernsNobodyWhoCameBeforeIt) {
  told(record(1, 1), 150ms);
  check.changed_all(at(200ms));
  EXPECT_EQ(judge({1, 1}, 100ms, 250ms), tag_verdict::fresh);
  EXPECT_EQ(judge({2, 1}, 100ms, 250ms), tag_verdict::gone);
  EXPECT_EQ(need(100ms, 250ms), tag_need::none);
  EXPECT_EQ(judge({1, 1}, 201ms, 250ms), tag_verdict::ask);
  EXPECT_TRUE(check.record("t")) << "an entry that is stored now is of that generation";
}

TEST_F(TagCheck, TheWorstOfAnEntrysTagsCounts) {
  told(record(1, 1), 100ms, "a");
  told(made_stale(record(1, 1)), 100ms, "b");
  told(record(2, 2), 100ms, "c");
  auto const of = [this](std::vector<char const*> const& names) {
    std::vector<entry_tag> tags;
    for (auto const* name : names) tags.push_back({name, {1, 1}});
    return check.judge(tags, at(100ms), at(100ms));
  };
  EXPECT_EQ(of({}), tag_verdict::fresh);
  EXPECT_EQ(of({"a"}), tag_verdict::fresh);
  EXPECT_EQ(of({"b", "a"}), tag_verdict::stale);
  EXPECT_EQ(of({"c", "b", "a"}), tag_verdict::gone);
  EXPECT_EQ(of({"a", "unknown"}), tag_verdict::ask);
  EXPECT_EQ(of({"b", "unknown"}), tag_verdict::ask);
  EXPECT_EQ(of({"unknown", "c"}), tag_verdict::gone) << "no answer could change it";
}

// ------------------------------------------------------------------------------ before a load

TEST_F(TagCheck, ALoadTakesAKnownRecordAndWritesOneThatIsMissing) {
  told(record(1, 1), 100ms);
  EXPECT_EQ(need(200ms, 200ms), tag_need::none);
  EXPECT_EQ(need(1101ms, 1101ms), tag_need::read);
  told(std::nullopt, 1200ms);
  EXPECT_EQ(need(1200ms, 1200ms), tag_need::write);
}

TEST_F(TagCheck, ALoadWritesARecordAnewThatWasMadeStale) {
  told(made_stale(record(1, 1)), 100ms);
  EXPECT_EQ(need(200ms, 200ms), tag_need::write);
}

// R22: it must not be gone before its entries.
TEST_F(TagCheck, ALoadWritesARecordAnewThatEndsBeforeTheEntry) {
  auto ending = record(1, 1);
  ending.ends = at(500ms);
  told(ending, 100ms);
  EXPECT_EQ(need(200ms, 200ms, 500ms), tag_need::none);
  EXPECT_EQ(need(200ms, 200ms, 501ms), tag_need::write);
}

TEST_F(TagCheck, WhatALoadHasAskedForItselfIsNotTooOldForIt) {
  told(record(1, 1), 100ms);
  EXPECT_EQ(need(100ms, 9000ms), tag_need::none);
  EXPECT_EQ(need(101ms, 9000ms), tag_need::read);
}

// -------------------------------------------------------------------------------- the bound

TEST(TagCheckBound, BeyondItSomeTagsAreForgottenAndNothingThatIsOnItsWayCounts) {
  tag_check check(max_age, 2);
  check.changed("a", at(100ms));
  check.told("b", record(1, 1), at(100ms));
  EXPECT_EQ(check.size(), 2u);
  EXPECT_EQ(check.judge({{"b", {1, 1}}}, at(110ms), at(110ms)), tag_verdict::fresh);
  check.told("c", record(1, 1), at(120ms));
  EXPECT_EQ(check.size(), 1u);
  EXPECT_EQ(check.judge({{"b", {1, 1}}}, at(210ms), at(210ms)), tag_verdict::ask);
  // It was asked for before a changed, which is forgotten.
  check.told("a", record(1, 1), at(90ms));
  EXPECT_EQ(check.judge({{"a", {1, 1}}}, at(210ms), at(210ms)), tag_verdict::ask);
  check.told("a", record(2, 2), at(220ms));
  EXPECT_EQ(check.judge({{"a", {2, 2}}}, at(230ms), at(230ms)), tag_verdict::fresh);
}

// S17. The executor that does this renews leases, too.
TEST(TagCheckBound, EachNewTagLooksAtFewOfTheOthers) {
  constexpr std::size_t most = 1000, more = 500;
  tag_check check(max_age, most);
  auto const name = [](std::size_t i) { return "t" + std::to_string(i); };
  for (std::size_t i = 0; i < most; ++i) check.told(name(i), record(1, 1), at(100ms));
  EXPECT_EQ(check.looked_for_room(), 0u);
  for (std::size_t i = 0; i < more; ++i) {
    check.told(name(most + i), record(1, 1), at(100ms));
    EXPECT_LE(check.size(), most);
    EXPECT_GE(check.size(), most - sweep_hand::looks) << "all but few are remembered";
  }
  EXPECT_LE(check.looked_for_room(), more + sweep_hand::looks) << "what it looks at is forgotten";
}

// ------------------------------------------------------------------- entries that are kept
// meanwhile

TEST_F(TagCheck, WhoHasKeptAnEntryUntilItsTagEndedHasNothing) {
  EXPECT_FALSE(check.have_ended({{"t", {1, 1}}}, at(100ms)));
  check.ended("t", at(200ms));
  EXPECT_TRUE(check.have_ended({{"t", {1, 1}}}, at(100ms)));
  EXPECT_TRUE(check.have_ended({{"u", {1, 1}}, {"t", {1, 1}}}, at(200ms)));
  EXPECT_FALSE(check.have_ended({{"t", {1, 1}}}, at(201ms)));
  EXPECT_FALSE(check.have_ended({{"u", {1, 1}}}, at(100ms)));
  told(record(2, 2), 300ms);
  EXPECT_TRUE(check.have_ended({{"t", {1, 1}}}, at(100ms))) << "whatever is known by now";
  EXPECT_EQ(judge({1, 1}, 250ms, 300ms), tag_verdict::gone);
}

TEST_F(TagCheck, AChangeThatIsNoEndLeavesWhatIsKept) {
  check.changed("t", at(200ms));
  EXPECT_FALSE(check.have_ended({{"t", {1, 1}}}, at(100ms)));
  check.ended("t", at(300ms));
  check.changed("t", at(400ms));
  EXPECT_TRUE(check.have_ended({{"t", {1, 1}}}, at(300ms)));
  EXPECT_FALSE(check.have_ended({{"t", {1, 1}}}, at(350ms)));
}

TEST(TagCheckBound, AnEndThatIsForgottenIsTakenForTheEndOfAnyTag) {
  tag_check check(max_age, 1);
  check.ended("a", at(200ms));
  check.changed("b", at(300ms));
  EXPECT_EQ(check.size(), 1u);
  EXPECT_TRUE(check.have_ended({{"a", {1, 1}}}, at(100ms)));
  EXPECT_TRUE(check.have_ended({{"b", {1, 1}}}, at(100ms)));
  EXPECT_FALSE(check.have_ended({{"a", {1, 1}}}, at(250ms)));
}

}  // namespace
}  // namespace herdlock::algo
