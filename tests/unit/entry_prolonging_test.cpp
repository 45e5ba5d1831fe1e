// How far the rule `keep` lengthens an entry's time.
#include <gtest/gtest.h>

#include "algo/entry_prolonging.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using algo::prolong_mark;
using algo::prolonged;

constexpr clock::time_point start{1000s};
constexpr clock::time_point first_end = start + 2s;

TEST(EntryProlonging, GivesTheTimeAskedForFromNowOn) {
  EXPECT_EQ(prolonged(first_end, {}, {30s, 5min}, start), (prolong_mark{first_end, start + 30s}));
}

TEST(EntryProlonging, LeavesAloneWhatHasThreeQuartersLeftOrMore) {
  EXPECT_FALSE(prolonged(start + 23s, {}, {30s, 5min}, start));
  EXPECT_TRUE(prolonged(start + 22s, {}, {30s, 5min}, start));
}

TEST(EntryProlonging, LeavesAloneWhatIsOver) {
  EXPECT_FALSE(prolonged(start, {}, {30s, 5min}, start));
  EXPECT_FALSE(prolonged(start - 1s, {}, {30s, 5min}, start));
}

TEST(EntryProlonging, KeepsToTheBoundBeyondTheFirstExpiryHoweverOftenItIsAsked) {
  auto mark = prolonged(first_end, {}, {10s, 12s}, start).value();
  EXPECT_EQ(mark.last, start + 10s);
  mark = prolonged(mark.last, mark, {10s, 12s}, start + 3s).value();
  EXPECT_EQ(mark, (prolong_mark{first_end, start + 13s}));
  mark = prolonged(mark.last, mark, {10s, 12s}, start + 6s).value();
  EXPECT_EQ(mark.last, first_end + 12s);
  EXPECT_FALSE(prolonged(mark.last, mark, {10s, 12s}, start + 13s));
}

TEST(EntryProlonging, NeverShortens) {
  EXPECT_FALSE(prolonged(start + 20s, {}, {30s, 0s}, start));
  EXPECT_FALSE(prolonged(start + 2s, {}, {30s, -1s}, start));
  EXPECT_FALSE(prolonged(start + 2s, {}, {-30s, 5min}, start));
}

TEST(EntryProlonging, WhatEndsAtAnotherTimeBeginsAnew) {
  auto const mark = prolonged(first_end, {}, {30s, 2s}, start).value();
  EXPECT_EQ(mark.last, first_end + 2s);
  auto const again = first_end + 1s;
  EXPECT_EQ(prolonged(again, mark, {30s, 2s}, start), (prolong_mark{again, again + 2s}));
}

TEST(EntryProlonging, SpansOfAnyLengthAreTaken) {
  auto const mark = prolonged(first_end, {}, {milliseconds::max(), milliseconds::max()}, start);
  EXPECT_EQ(mark.value().last, start + limits::max_ttl);
}

}  // namespace
