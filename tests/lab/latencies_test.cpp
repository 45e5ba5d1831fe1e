// Times in bins: what their percentiles are worth.
#include <gtest/gtest.h>

#include "stage/latencies.hpp"

namespace {

using namespace herdlock::lab;

constexpr std::int64_t of_a_ms = 1'000'000;

TEST(Latencies, ATimeIsInABinThatHoldsItAndIsNoMoreThanATenthWide) {
  for (std::int64_t ns = 64; ns < 60'000 * of_a_ms; ns = ns * 11 / 10 + 1) {
    auto const bin = latency_bins::of(ns);
    EXPECT_GE(latency_bins::upper_ns(bin) * 1.000001, static_cast<double>(ns));
    EXPECT_LE(latency_bins::upper_ns(bin), static_cast<double>(ns) * 1.1);
  }
  EXPECT_EQ(latency_bins::of(0), 0u);
  EXPECT_EQ(latency_bins::of(1'000'000'000 * of_a_ms), latency_bins::size - 1);
}

TEST(Latencies, PercentilesAreThoseOfTheSum) {
  latencies one, other;
  for (int i = 0; i < 98; ++i) one.note(of_a_ms);
  other.note(50 * of_a_ms);
  other.note(70 * of_a_ms);
  latency_sum all;
  EXPECT_EQ(all.percentile_ms(0.99), 0) << "of none";
  all.add(one);
  all.add(other);
  EXPECT_EQ(all.count(), 100u);
  EXPECT_NEAR(all.percentile_ms(0.5), 1, 0.1);
  EXPECT_NEAR(all.percentile_ms(0.99), 50, 5);
  EXPECT_DOUBLE_EQ(all.percentile_ms(1), 70);
  EXPECT_DOUBLE_EQ(all.slowest_ms(), 70);
}

TEST(Latencies, ExactFiguresHaveTheNearestRank) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({3, 1, 2}, 0.99), 3);
  EXPECT_EQ(percentile({3, 1, 2}, 0), 1);
}

}  // namespace
