// Room in a table of keys, a few looks at a time (S17).
#include "algo/sweep_hand.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace herdlock::algo {
namespace {

using table = std::map<std::string, int>;

table of(int size) {
  table made;
  for (int i = 0; i < size; ++i) made[std::to_string(i)] = i;
  return made;
}

TEST(SweepHand, AStepLooksAtFewKeysHoweverManyThereAre) {
  auto keys = of(1000);
  sweep_hand hand;
  std::size_t looks = 0;
  hand.step(keys, [&](auto const&) {
    ++looks;
    return false;
  });
  EXPECT_EQ(looks, sweep_hand::looks);
  EXPECT_EQ(hand.looked(), looks);
  EXPECT_EQ(keys.size(), 1000u);
}

TEST(SweepHand, ItGoesAroundSoThatEachIsLookedAtOnceInARound) {
  auto keys = of(10 * static_cast<int>(sweep_hand::looks));
  sweep_hand hand;
  for (int round = 0; round < 2; ++round) {
    std::set<int> seen;
    for (int step = 0; step < 10; ++step) {
      hand.step(keys, [&](auto const& one) {
        EXPECT_TRUE(seen.insert(one.second).second) << "twice in one round";
        return false;
      });
    }
    EXPECT_EQ(seen.size(), keys.size());
  }
}

TEST(SweepHand, WhatMayGoGoesAndNothingElse) {
  auto keys = of(100);
  sweep_hand hand;
  for (int step = 0; step < 10; ++step) {
    hand.step(keys, [](auto const& one) { return one.second % 2 == 0; });
  }
  EXPECT_EQ(keys.size(), 50u);
  for (auto const& [key, number] : keys) EXPECT_EQ(number % 2, 1) << key;
}

TEST(SweepHand, ATableThatIsSmallerThanAStepIsLookedAtOnce) {
  sweep_hand hand;
  table none;
  hand.step(none, [](auto const&) { return true; });
  EXPECT_EQ(hand.looked(), 0u);
  auto keys = of(3);
  hand.step(keys, [](auto const&) { return false; });
  EXPECT_EQ(hand.looked(), 3u);
  hand.step(keys, [](auto const&) { return true; });
  EXPECT_TRUE(keys.empty());
}

TEST(SweepHand, AKeyThatWasTakenOutMeanwhileIsPassedOver) {
  auto keys = of(100);
  sweep_hand hand;
  std::string next;
  hand.step(keys, [&](auto const& one) {
    next = one.first;
    return false;
  });
  next = std::next(keys.find(next))->first;
  auto const behind = std::next(keys.find(next))->first;
  keys.erase(next);
  std::string first;
  hand.step(keys, [&](auto const& one) {
    if (first.empty()) first = one.first;
    return false;
  });
  EXPECT_EQ(first, behind);
}

}  // namespace
}  // namespace herdlock::algo
