// The sketch of hot keys: it never says too little, and forgets a half as a whole.
#include "algo/hot_sketch.hpp"

#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using herdlock::algo::hot_sketch;

// As spread as hashes are (SplitMix64).
std::uint64_t hash_of(std::uint64_t key) {
  key = (key + 1) * 0x9e3779b97f4a7c15;
  key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9;
  key = (key ^ (key >> 27)) * 0x94d049bb133111eb;
  return key ^ (key >> 31);
}

TEST(HotSketch, ItNeverSaysTooLittle) {
  auto sketch = std::make_unique<hot_sketch>();
  std::mt19937_64 random(7);
  std::map<std::uint64_t, std::uint64_t> live;
  std::map<std::uint64_t, std::uint64_t> previous;
  for (int half = 0; half < 4; ++half) {
    for (int i = 0; i < 50'000; ++i) {
      std::uint64_t const key = hash_of(random() % (1 + random() % 20'000));
      std::uint64_t const uses = 1 + random() % 3;
      sketch->add(key, uses);
      live[key] += uses;
    }
    for (auto const& [key, uses] : live) ASSERT_GE(sketch->of(key).live, uses);
    for (auto const& [key, uses] : previous) ASSERT_GE(sketch->of(key).previous, uses);
    sketch->end_half();
    previous = std::move(live);
    live.clear();
    for (auto const& [key, uses] : previous) ASSERT_GE(sketch->of(key).previous, uses);
  }
}

TEST(HotSketch, AloneAKeyHasWhatItHad) {
  auto sketch = std::make_unique<hot_sketch>();
  for (int i = 0; i < 1000; ++i) sketch->add(hash_of(1), 1);
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), 1000u);
  EXPECT_EQ(sketch->of(hash_of(2)).sum(), 0u);
}

// Many rare keys: a cell is raised only as far as an estimate demands, so what they add together
// is far less than two for each use, and about the same everywhere.
TEST(HotSketch, RareKeysRaiseAllCellsAboutAlike) {
  auto sketch = std::make_unique<hot_sketch>();
  constexpr std::uint64_t uses = 400'000;
  for (std::uint64_t i = 0; i < uses; ++i) sketch->add(hash_of(i), 1);
  std::uint64_t least = uses;
  std::uint64_t most = 0;
  for (std::uint64_t i = uses; i < uses + 10'000; ++i) {
    least = std::min(least, sketch->of(hash_of(i)).sum());
    most = std::max(most, sketch->of(hash_of(i)).sum());
  }
  EXPECT_LE(most, 2 * uses * 3 / 4 / hot_sketch::cells);
  EXPECT_LE(most, least + least / 2);
}

TEST(HotSketch, AHalfIsForgottenAsAWholeAfterTwo) {
  auto sketch = std::make_unique<hot_sketch>();
  sketch->add(hash_of(1), 1000);
  sketch->end_half();
  EXPECT_EQ(sketch->of(hash_of(1)).live, 0u);
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), 1000u);
  sketch->end_half();
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), 0u);
}

TEST(HotSketch, WhatIsAddedToTheHalfBeforeGoesWithIt) {
  auto sketch = std::make_unique<hot_sketch>();
  sketch->add(hash_of(1), 3);
  sketch->end_half();
  sketch->add_to_previous(hash_of(1), 5);
  sketch->add(hash_of(1), 7);
  EXPECT_EQ(sketch->of(hash_of(1)).previous, 8u);
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), 15u);
  sketch->end_half();
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), 7u);
}

TEST(HotSketch, ACellAtItsEndBoundsNothing) {
  constexpr auto no_bound = std::numeric_limits<std::uint64_t>::max();
  auto sketch = std::make_unique<hot_sketch>();
  sketch->add(hash_of(1), hot_sketch::unknown - 1);
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), hot_sketch::unknown - 1);
  sketch->add(hash_of(1), 1);
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), no_bound);
  sketch->add(hash_of(1), 1);
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), no_bound);
  sketch->end_half();
  EXPECT_EQ(sketch->of(hash_of(1)).sum(), no_bound);
  sketch->add(hash_of(2), no_bound);
  EXPECT_EQ(sketch->of(hash_of(2)).sum(), no_bound);
}

}  // namespace
}  // namespace herdlock_test
