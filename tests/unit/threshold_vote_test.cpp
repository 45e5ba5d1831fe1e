// Whose options count in a fleet whose processes have different ones; and whether what is sent
// comes back.
#include "algo/threshold_vote.hpp"

#include <gtest/gtest.h>

#include "algo/echo_watch.hpp"

namespace herdlock::algo {
namespace {

fleet_thresholds of(std::uint64_t threshold) { return {.threshold = threshold}; }

TEST(ThresholdVote, MostProcessesDecideAndEachCountsOnce) {
  threshold_vote votes;
  for (int i = 0; i < 10; ++i) votes.voted(1, of(100));
  votes.voted(2, of(200));
  votes.voted(3, of(200));
  EXPECT_EQ(votes.count(of(100)), of(200));
}

TEST(ThresholdVote, WhereAsManyHaveOthersThePresentOnesStay) {
  threshold_vote votes;
  votes.voted(1, of(100));
  votes.voted(2, of(200));
  EXPECT_EQ(votes.count(of(200)), of(200));
  votes.voted(2, of(200));
  votes.voted(1, of(100));
  EXPECT_EQ(votes.count(of(100)), of(100));
}

TEST(ThresholdVote, EachCountBeginsAnew) {
  threshold_vote votes;
  votes.voted(1, of(200));
  EXPECT_EQ(votes.count(of(100)), of(200));
  EXPECT_EQ(votes.count(of(100)), of(100)) << "nobody has voted";
}

TEST(ThresholdVote, KindsHaveABound) {
  threshold_vote votes;
  for (std::uint64_t i = 1; i <= threshold_vote::most_kinds; ++i) votes.voted(i, of(i));
  votes.voted(98, of(99));
  votes.voted(99, of(99));
  EXPECT_EQ(votes.count(of(3)), of(3));
}

TEST(EchoWatch, WhatDoesNotComeBackIsLostAfterAWhile) {
  echo_watch watch;
  auto const at = [](int ms) { return clock::time_point(milliseconds(ms)); };
  EXPECT_FALSE(watch.is_lost(at(0), milliseconds(0))) << "nothing was sent";
  watch.sent(at(1000));
  watch.sent(at(3000));
  EXPECT_FALSE(watch.is_lost(at(3999), milliseconds(3000)));
  EXPECT_TRUE(watch.is_lost(at(4000), milliseconds(3000))) << "since the first one";
  watch.came_back();
  EXPECT_FALSE(watch.is_lost(at(9000), milliseconds(3000)));
  watch.sent(at(9000));
  EXPECT_FALSE(watch.is_lost(at(11'999), milliseconds(3000)));
}

}  // namespace
}  // namespace herdlock::algo
