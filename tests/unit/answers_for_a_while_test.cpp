// Answers that are given again.
#include "algo/answers_for_a_while.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

clock::time_point after(milliseconds time) { return clock::time_point(1h) + time; }

using answers = answers_for_a_while<int>;

/// 0: there is none.
int found(answers const& of, std::string_view key, milliseconds time) {
  int const* const answer = of.find(key, after(time));
  return answer ? *answer : 0;
}

TEST(AnswersForAWhile, AnAnswerIsGivenUntilItsTimeIsUp) {
  answers some({10, 1000});
  some.add("k", 1, 1, after(100ms));
  EXPECT_EQ(found(some, "k", 99ms), 1);
  EXPECT_EQ(found(some, "k", 100ms), 0);
  EXPECT_EQ(found(some, "another", 0ms), 0);
}

TEST(AnswersForAWhile, AtTheBoundTheOldestGoes) {
  answers some({2, 1000});
  some.add("a", 1, 1, after(100ms));
  some.add("b", 2, 1, after(100ms));
  some.add("c", 3, 1, after(100ms));
  EXPECT_EQ(found(some, "a", 0ms), 0);
  EXPECT_EQ(found(some, "b", 0ms), 2);
  EXPECT_EQ(found(some, "c", 0ms), 3);
}

TEST(AnswersForAWhile, TheLastAnswerOfAKeyStaysWhenItsFormerOneGoes) {
  answers some({10, 1000});
  some.add("k", 1, 1, after(100ms));
  some.add("k", 2, 1, after(200ms));
  EXPECT_EQ(some.next_end(), after(100ms));
  some.drop_old(after(100ms));
  EXPECT_EQ(found(some, "k", 150ms), 2);
  some.drop_old(after(200ms));
  EXPECT_TRUE(some.empty());
}

TEST(AnswersForAWhile, WhatIsErasedIsNotGivenAgain) {
  answers some({10, 1000});
  some.add("k", 1, 1, after(100ms));
  some.erase("another");
  EXPECT_EQ(found(some, "k", 0ms), 1);
  some.erase("k");
  EXPECT_EQ(found(some, "k", 0ms), 0);
  some.add("k", 2, 1, after(300ms));
  some.drop_old(after(100ms));
  EXPECT_EQ(found(some, "k", 100ms), 2) << "the end of the one that was erased is not its own";
}

TEST(AnswersForAWhile, BeyondTheBoundInBytesTheOldestGo) {
  answers some({10, 100});
  some.add("a", 1, 40, after(100ms));
  some.add("b", 2, 40, after(100ms));
  some.add("c", 3, 20, after(100ms));
  EXPECT_EQ(found(some, "a", 0ms), 1) << "at the bound";
  EXPECT_EQ(some.bytes(), 100u);
  some.add("d", 4, 1, after(100ms));
  EXPECT_EQ(found(some, "a", 0ms), 0) << "one byte more";
  EXPECT_EQ(found(some, "b", 0ms), 2);
  EXPECT_EQ(found(some, "d", 0ms), 4);
  EXPECT_EQ(some.bytes(), 61u);
}

TEST(AnswersForAWhile, OneThatIsLargerThanTheBoundIsKeptAlone) {
  answers some({10, 100});
  some.add("a", 1, 60, after(100ms));
  some.add("large", 2, 101, after(100ms));
  EXPECT_EQ(found(some, "a", 0ms), 0);
  EXPECT_EQ(found(some, "large", 0ms), 2);
  some.add("b", 3, 1, after(100ms));
  EXPECT_EQ(found(some, "large", 0ms), 0);
  EXPECT_EQ(some.bytes(), 1u);
}

TEST(AnswersForAWhile, WhatHasGoneTakesNoBytes) {
  answers some({10, 100});
  some.add("k", 1, 60, after(100ms));
  some.add("k", 2, 70, after(100ms));
  EXPECT_EQ(some.bytes(), 70u) << "in place of its former one";
  some.erase("k");
  EXPECT_EQ(some.bytes(), 0u);
  some.add("a", 1, 30, after(200ms));
  some.add("b", 2, 30, after(200ms));
  some.erase_if([](std::string_view key) { return key == "a"; });
  EXPECT_EQ(some.bytes(), 30u);
  some.drop_old(after(200ms));
  EXPECT_EQ(some.bytes(), 0u);
  EXPECT_TRUE(some.empty());
}

}  // namespace
}  // namespace herdlock::algo
