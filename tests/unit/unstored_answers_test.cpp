// Answers that are in no store, and are given again.
#include "algo/unstored_answers.hpp"

#include <gtest/gtest.h>

#include <string>

#include "key_records_fixture.hpp"

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

clock::time_point after(milliseconds time) { return clock::time_point(1h) + time; }

class UnstoredAnswers : public ::testing::Test {
 protected:
  void add(std::string_view key, int answer, milliseconds now, milliseconds time = 100ms,
           std::size_t bytes = 1) {
    some.add(key, kind, {std::make_shared<int const>(answer), bytes, time}, after(now), after(now));
  }
  /// 0: there is none.
  int found(std::string_view key, milliseconds now, load_guard guard = load_guard::guarded) const {
    auto const answer = some.find(key, guard, after(now));
    return answer ? *std::static_pointer_cast<int const>(answer) : 0;
  }

  unstored_kind kind = unstored_kind::refused;
  key_records records{10'000};
  unstored_answers some{records, 10'000};
};

TEST_F(UnstoredAnswers, AnAnswerIsGivenUntilItsTimeIsUp) {
  add("k", 1, 0ms);
  EXPECT_EQ(found("k", 99ms), 1);
  EXPECT_EQ(found("k", 100ms), 0);
  EXPECT_EQ(found("another", 0ms), 0);
  add("never", 1, 0ms, 0ms);
  EXPECT_EQ(found("never", 0ms), 0);
}

TEST_F(UnstoredAnswers, OneThatWasLoadedWithoutTheStoreAnswersInPlaceOfSuchALoad) {
  kind = unstored_kind::unguarded;
  add("k", 1, 0ms);
  EXPECT_EQ(found("k", 0ms), 0);
  EXPECT_EQ(found("k", 0ms, load_guard::unguarded), 1);
}

TEST_F(UnstoredAnswers, TheNewestAnswerOfAKeyStays) {
  add("k", 1, 0ms);
  add("k", 2, 50ms);
  EXPECT_EQ(found("k", 120ms), 2);
  some.advance(after(150ms));
  EXPECT_EQ(records.keys(), 0u);
  EXPECT_TRUE(some.empty());
}

TEST_F(UnstoredAnswers, WhatIsErasedIsNotGivenAgain) {
  add("k", 1, 0ms);
  some.erase("another");
  EXPECT_EQ(found("k", 0ms), 1);
  some.erase("k");
  EXPECT_EQ(found("k", 0ms), 0);
  EXPECT_EQ(records.keys(), 0u);
}

TEST_F(UnstoredAnswers, ThoseOfSomeKeysAreErased) {
  add("a", 1, 0ms);
  kind = unstored_kind::unstorable;
  add("b", 2, 0ms);
  some.erase_if([](unstored_answer const& one) { return one.record->key() == "b"; });
  EXPECT_EQ(found("a", 0ms), 1);
  EXPECT_EQ(found("b", 0ms), 0);
}

TEST_F(UnstoredAnswers, BehindAFenceLoadsOfBeforeAnswerNobody) {
  add("k", 1, 0ms);
  some.fence(after(10ms));
  EXPECT_EQ(found("k", 10ms), 0);
  add("k", 2, 5ms);
  EXPECT_EQ(found("k", 11ms), 0) << "its load began before";
  add("k", 3, 11ms);
  EXPECT_EQ(found("k", 11ms), 3);
}

TEST_F(UnstoredAnswers, BeyondTheBoundInBytesTheOldestGo) {
  add("a", 1, 0ms, 100ms, 4000);
  add("b", 2, 0ms, 100ms, 4000);
  EXPECT_EQ(found("a", 0ms), 1);
  add("c", 3, 0ms, 100ms, 4000);
  EXPECT_EQ(found("a", 0ms), 0);
  EXPECT_EQ(found("b", 0ms), 2);
  EXPECT_EQ(found("c", 0ms), 3);
}

TEST_F(UnstoredAnswers, BeyondTheirNumberTheOldestGo) {
  key_records many(room_for(10'000));
  unstored_answers all(many, 1'000'000);
  auto const what = std::make_shared<int const>(1);
  auto const name = [](std::size_t i) { return std::to_string(i); };
  for (std::size_t i = 0; i <= unstored_answers::most_answers; ++i) {
    all.add(name(i), kind, {what, 1, 100ms}, after(0ms), after(0ms));
  }
  EXPECT_EQ(all.bytes(), unstored_answers::most_answers);
  EXPECT_FALSE(all.find("0", load_guard::guarded, after(0ms)));
  EXPECT_TRUE(all.find("1", load_guard::guarded, after(0ms)));
}

// The record of one that goes may be that of the next one's end.
TEST_F(UnstoredAnswers, TheEndOfAllOfThemIsNoHarmWhicheverGoFirst) {
  for (int i = 0; i < 8; ++i) add("x" + std::to_string(i), 1, 0ms, 1000ms);
  add("in use", 2, 0ms, 1000ms);
  add("over", 3, 0ms, 1ms);
  {
    key_place const used(records, "in use");
    used->looks = 1;
  }
  some.fence(after(50ms));
  EXPECT_TRUE(some.empty());
  EXPECT_EQ(some.bytes(), 0u);
  EXPECT_EQ(records.keys(), 1u);
}

TEST_F(UnstoredAnswers, OneThatIsLargerThanTheBoundIsKeptAlone) {
  add("a", 1, 0ms);
  add("large", 2, 0ms, 100ms, 20'000);
  EXPECT_EQ(found("a", 0ms), 0);
  EXPECT_EQ(found("large", 0ms), 2);
  add("b", 3, 0ms);
  EXPECT_EQ(found("large", 0ms), 0);
  EXPECT_EQ(found("b", 0ms), 3);
  EXPECT_LT(some.bytes(), 10'000u);
}

}  // namespace
}  // namespace herdlock::algo
