// How old idle entries become on a server, by what it says of its evictions.
#include "algo/eviction_age.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using namespace std::chrono_literals;

clock::time_point at(milliseconds since_start) { return clock::time_point(since_start); }

TEST(EvictionAge, IsTheTimeInWhichAllThereIsWouldBeEvicted) {
  eviction_age age;
  age.told({.keys = 1000, .evicted = 50}, at(0ms));
  EXPECT_EQ(age.of_idle(), std::nullopt) << "one look says nothing";
  age.told({.keys = 1000, .evicted = 150}, at(5s));
  EXPECT_EQ(age.of_idle(), 50s) << "20 a second of a thousand";
}

TEST(EvictionAge, TellsHowManyWereEvictedSinceTheLastLook) {
  eviction_age age;
  EXPECT_EQ(age.told({.keys = 9, .evicted = 50}, at(0ms)), 0u) << "nobody knows since when";
  EXPECT_EQ(age.told({.keys = 9, .evicted = 57}, at(5s)), 7u);
  EXPECT_EQ(age.told({.keys = 9, .evicted = 58}, at(5001ms)), 0u) << "too close: it comes later";
  EXPECT_EQ(age.told({.keys = 9, .evicted = 60}, at(6s)), 3u);
  EXPECT_EQ(age.told({.keys = 9, .evicted = 2}, at(7s)), 0u) << "it was restarted";
  EXPECT_EQ(age.told({.keys = 9, .evicted = 3}, at(8s)), 1u);
}

TEST(EvictionAge, AServerThatEvictsNothingHasNone) {
  eviction_age age;
  age.told({.keys = 1000, .evicted = 50}, at(0ms));
  age.told({.keys = 1000, .evicted = 60}, at(5s));
  age.told({.keys = 1100, .evicted = 60}, at(10s));
  EXPECT_EQ(age.of_idle(), std::nullopt);
}

TEST(EvictionAge, AServerThatWasRestartedCountsAnew) {
  eviction_age age;
  age.told({.keys = 1000, .evicted = 5000}, at(0ms));
  age.told({.keys = 10, .evicted = 3}, at(5s));
  EXPECT_EQ(age.of_idle(), std::nullopt);
  age.told({.keys = 10, .evicted = 4}, at(6s));
  EXPECT_EQ(age.of_idle(), 10s);
}

TEST(EvictionAge, IsBoundedForAnyFigures) {
  eviction_age age;
  age.told({.keys = 0, .evicted = 0}, at(0ms));
  age.told({.keys = ~std::uint64_t{0}, .evicted = 1}, at(5s));
  EXPECT_EQ(age.of_idle(), limits::max_ttl);
  age.told({.keys = 0, .evicted = 2}, at(10s));
  EXPECT_EQ(age.of_idle(), 0ms);
  age.told({.keys = 5, .evicted = 2}, at(10s));
  EXPECT_EQ(age.of_idle(), 0ms) << "of two looks at one time the first counts";
}

TEST(EvictionAge, WhatIsInUseIsToldFourTimesInThatTimeWithinBounds) {
  EXPECT_EQ(touch_interval(std::nullopt), std::nullopt);
  EXPECT_EQ(touch_interval(0ms), 1s);
  EXPECT_EQ(touch_interval(40s), 10s);
  EXPECT_EQ(touch_interval(1h), 1min);
}

}  // namespace
}  // namespace herdlock::algo
