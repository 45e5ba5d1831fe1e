// What is remembered of the ends of plain entries.
#include "algo/plain_ends.hpp"

#include <gtest/gtest.h>

#include "key_records_fixture.hpp"

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;
using answer = plain_ends::answer;

clock::time_point at(milliseconds time) { return clock::time_point(1h) + time; }

TEST(PlainEnds, TheStoreIsAskedOnceForAnEntry) {
  alone<plain_ends> times;
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
  alone<plain_ends> times;
  times.stored("k", {at(0ms), at(100ms), 7ms});
  auto const found = times.look("k", at(50ms));
  EXPECT_EQ(found.what, answer::known);
  EXPECT_EQ(found.times.load_time, 7ms);
}

TEST(PlainEnds, ALoadOfAKeyThatWasNotLoadedHereTakesAsLongAsTheLastOne) {
  alone<plain_ends> times;
  times.stored("loaded", {at(0ms), at(100ms), 7ms});
  times.look("k", at(0ms));
  times.told("k", times.asked(), 100ms, at(0ms));
  EXPECT_EQ(times.look("k", at(1ms)).times.load_time, 7ms);
}

TEST(PlainEnds, AnAnswerThatWasOvertakenChangesNothing) {
  alone<plain_ends> times;
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
  alone<plain_ends> times;
  milliseconds began = 0ms;
  for (auto const left : {std::optional<milliseconds>(), std::optional(0ms)}) {
    began += 10s;
    times.forget("k");
    EXPECT_EQ(times.look("k", at(began)).what, answer::ask);
    times.told("k", times.asked(), left, at(began + 1ms));
    EXPECT_EQ(times.look("k", at(began + 1000ms)).what, answer::wait);
    EXPECT_EQ(times.look("k", at(began + 1001ms)).what, answer::ask);
    times.told("k", times.asked(), left, at(began + 1001ms));
  }
  times.forget("k");
  EXPECT_EQ(times.keys(), 0u);
}

TEST(PlainEnds, WithoutRoomTheEndIsNotKnown) {
  key_records records(room_for(1));
  plain_ends times(records);
  EXPECT_EQ(times.look("a", at(0ms)).what, answer::ask);
  EXPECT_EQ(times.look("b", at(0ms)).what, answer::wait)
      << "the store is being asked for the other";
  times.told("a", times.asked(), 100ms, at(1ms));
  EXPECT_EQ(times.look("b", at(100ms)).what, answer::wait) << "the other's end is known";
  EXPECT_EQ(times.look("b", at(102ms)).what, answer::ask) << "it is over";
}

}  // namespace
}  // namespace herdlock::algo
