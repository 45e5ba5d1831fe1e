// What is remembered of the ends of plain entries.
#include "algo/plain_ends.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;
using answer = plain_ends::answer;

clock::time_point at(milliseconds time) { return clock::time_point(1h) + time; }

TEST(PlainEnds, TheStoreIsAskedOnceForAnEntry) {
  plain_ends times(10);
  EXPECT_EQ(times.look("k", at(0ms)).what, answer::ask);
  auto const asked = times.asked();
  EXPECT_EQ(times.look("k", at(1ms)).what, answer::wait);
  times.told("k", asked, 100ms, at(2ms));
  for (milliseconds const time : {3ms, 50ms, 101ms}) {
    auto const found = times.look("k", at(time));
    EXPECT_EQ(found.what, answer::known);
    EXPECT_EQ(found.times.ends, at(102ms));
  }
  EXPECT_EQ(times.look("k", at(102ms)).what, answer::ask) << "another entry";
}

TEST(PlainEnds, WhatWasStoredHereIsKnown) {
  plain_ends times(10);
  times.stored("k", {at(0ms), at(100ms), 7ms});
  auto const found = times.look("k", at(50ms));
  EXPECT_EQ(found.what, answer::known);
  EXPECT_EQ(found.times.load_time, 7ms);
}

TEST(PlainEnds, ALoadOfAKeyThatWasNotLoadedHereTakesAsLongAsTheLastOne) {
  plain_ends times(10);
  times.stored("loaded", {at(0ms), at(100ms), 7ms});
  times.look("k", at(0ms));
  times.told("k", times.asked(), 100ms, at(0ms));
  EXPECT_EQ(times.look("k", at(1ms)).times.load_time, 7ms);
}

TEST(PlainEnds, AnAnswerThatWasOvertakenChangesNothing) {
  plain_ends times(10);
  times.look("k", at(0ms));
  auto const late = times.asked();
  times.stored("k", {at(1ms), at(100ms), 1ms});
  times.told("k", late, 5ms, at(2ms));
  EXPECT_EQ(times.look("k", at(50ms)).what, answer::known);

  times.forget("k");
  times.told("k", late, 500ms, at(2ms));
  EXPECT_EQ(times.look("k", at(3ms)).what, answer::ask);
  times.told("k", late, 500ms, at(4ms));
  EXPECT_EQ(times.look("k", at(5ms)).what, answer::wait) << "the answer to another question";
}

TEST(PlainEnds, WithoutAnAnswerTheStoreIsAskedAgainAfterAWhile) {
  plain_ends times(1);
  for (auto const left : {std::optional<milliseconds>(), std::optional(0ms)}) {
    times.forget("k");
    EXPECT_EQ(times.look("k", at(0ms)).what, answer::ask);
    times.told("k", times.asked(), left, at(1ms));
    EXPECT_EQ(times.look("k", at(1000ms)).what, answer::wait);
    EXPECT_EQ(times.look("k", at(1001ms)).what, answer::ask);
    times.told("k", times.asked(), left, at(1001ms));
  }
  EXPECT_EQ(times.look("another", at(2001ms)).what, answer::ask) << "it makes room";
}

TEST(PlainEnds, NoMoreThanTheBoundAreRemembered) {
  plain_ends times(2);
  times.stored("a", {at(0ms), at(100ms), 1ms});
  EXPECT_EQ(times.look("b", at(0ms)).what, answer::ask);
  EXPECT_EQ(times.look("c", at(0ms)).what, answer::wait);
  times.stored("c", {at(0ms), at(100ms), 1ms});
  EXPECT_EQ(times.size(), 2u);
  EXPECT_EQ(times.look("c", at(2s)).what, answer::ask) << "in place of one that has ended";
  EXPECT_EQ(times.size(), 2u);
}

TEST(PlainEnds, WhatHasEndedMakesRoomAtOnce) {
  plain_ends times(1);
  times.stored("a", {at(0ms), at(100ms), 1ms});
  EXPECT_EQ(times.look("b", at(99ms)).what, answer::wait);
  EXPECT_EQ(times.look("b", at(100ms)).what, answer::ask);
}

// S17. The executor that does this renews leases, too.
TEST(PlainEnds, ANewKeyLooksAtFewOfThemHoweverManyThereAre) {
  constexpr std::size_t most = 1000, more = 500;
  plain_ends times(most);
  auto const name = [](std::size_t i) { return std::to_string(i); };
  for (std::size_t i = 0; i < most; ++i) times.stored(name(i), {at(0ms), at(1h), 1ms});
  EXPECT_EQ(times.looked_for_room(), 0u);
  for (std::size_t i = 0; i < more; ++i) {
    EXPECT_EQ(times.look(name(most + i), at(1ms)).what, answer::wait) << "none has ended";
  }
  EXPECT_LE(times.looked_for_room(), more * sweep_hand::looks);
}

TEST(PlainEnds, WhereverTheOneThatHasEndedIsItIsFoundInTime) {
  constexpr std::size_t most = 1000;
  plain_ends times(most);
  for (std::size_t i = 0; i < most; ++i) {
    times.stored(std::to_string(i), {at(0ms), i == 777 ? at(1ms) : at(1h), 1ms});
  }
  std::size_t tries = 0;
  while (times.look("new", at(2ms)).what != answer::ask && tries < most) ++tries;
  EXPECT_LE(tries, most / sweep_hand::looks + 1);
}

}  // namespace
}  // namespace herdlock::algo
