// What one thread counts: who holds a counter, and that true counts are always within the bounds.
#include "algo/hot_shard.hpp"

#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "algo/key_hash.hpp"

namespace herdlock_test {
namespace {

using herdlock::algo::hot_bounds;
using herdlock::algo::hot_half;
using herdlock::algo::hot_key_id;
using herdlock::algo::hot_report;
using herdlock::algo::hot_shard;
using herdlock::algo::hot_uses;

constexpr std::uint64_t end_of_numbers = std::numeric_limits<std::uint64_t>::max();

class shard_of_texts {
 public:
  void used(std::string_view key, hot_uses uses) { shard_->used(id(key), uses); }
  void read(std::string_view key, std::uint64_t times = 1) { used(key, {times, 0}); }

  /// By key, what was counted since the last call.
  std::map<std::string, hot_uses> take(hot_half half = hot_half::goes_on) {
    std::size_t const taken = shard_->take(hot_shard::reports(reports_), half);
    std::map<std::string, hot_uses> found;
    for (std::size_t i = 0; i < taken; ++i)
      found[std::string(reports_[i].id().text)] += reports_[i].uses;
    return found;
  }
  void end_half() { take(hot_half::ends); }
  hot_bounds bounds_of(std::string_view key) const { return shard_->bounds_of(id(key)); }
  std::uint64_t low(std::string_view key) const { return bounds_of(key).low.reads; }
  std::uint64_t high(std::string_view key) const { return bounds_of(key).high.reads; }
  hot_shard const& operator*() const { return *shard_; }

 private:
  static hot_key_id id(std::string_view key) {
    return hot_key_id::of(key, herdlock::detail::key_hash(key, 42));
  }

  std::unique_ptr<hot_shard> shard_ = std::make_unique<hot_shard>();
  std::vector<hot_report> reports_ = std::vector<hot_report>(hot_shard::counters);
};

std::string numbered(std::string_view what, std::uint64_t number) {
  return std::string(what) + std::to_string(number);
}

TEST(HotShard, KeysAreCountedExactlyWhileThereAreCounters) {
  shard_of_texts shard;
  for (std::uint64_t i = 0; i < hot_shard::counters; ++i) {
    shard.used(numbered("key", i), {i + 1, 2 * i});
  }
  for (std::uint64_t i = 0; i < hot_shard::counters; ++i) {
    hot_bounds const found = shard.bounds_of(numbered("key", i));
    EXPECT_EQ(found.low, (hot_uses{i + 1, 2 * i}));
    EXPECT_EQ(found.high, found.low);
  }
  EXPECT_EQ(shard.take().size(), hot_shard::counters);
}

TEST(HotShard, WhatWasTakenIsNotTakenAgain) {
  shard_of_texts shard;
  shard.read("a", 3);
  EXPECT_EQ(shard.take().at("a"), (hot_uses{3, 0}));
  EXPECT_TRUE(shard.take().empty());
  shard.used("a", {1, 4});
  EXPECT_EQ(shard.take(hot_half::ends).at("a"), (hot_uses{1, 4}));
  EXPECT_EQ(shard.bounds_of("a").low, (hot_uses{4, 4}));
}

TEST(HotShard, NoUseIsNoUse) {
  shard_of_texts shard;
  shard.used("a", {});
  EXPECT_TRUE(shard.take().empty());
  EXPECT_EQ((*shard).total(), hot_uses{});
}

TEST(HotShard, ManyUsesOfOneKeyTakeTheCounterOfOneWithLittle) {
  shard_of_texts shard;
  for (std::uint64_t i = 0; i < hot_shard::counters; ++i) shard.read(numbered("some", i), 5);
  for (int i = 0; i < 100; ++i) shard.read("many");
  EXPECT_GT(shard.low("many"), 80u);
  EXPECT_GE(shard.high("many"), 100u);
  EXPECT_EQ((*shard).changes(), 1u);
}

// They are used in each half, so they never lose a counter by disuse.
TEST(HotShard, FewUsesNowAndThenDoNotKeepAKeyFromItsCounter) {
  shard_of_texts shard;
  for (int half = 0; half < 6; ++half) {
    for (std::uint64_t i = 0; i < hot_shard::counters; ++i) shard.read(numbered("some", i), 3);
    if (half >= 3) shard.read("many", 50);
    if (half < 5) shard.end_half();
  }
  EXPECT_EQ(shard.low("many"), 100u);
}

// An attack on the processor's time: whoever takes a counter makes work for two.
TEST(HotShard, KeysThatComeOnceDoNotTakeCountersFromEachOther) {
  shard_of_texts shard;
  constexpr std::uint64_t uses = 400'000;
  for (std::uint64_t i = 0; i < uses; ++i) {
    shard.read(numbered("once", i));
    if (i % 100'000 == 99'999) shard.end_half();
  }
  EXPECT_LE((*shard).changes(), uses / 100);
}

TEST(HotShard, CountersDoNotChangeHandsForOneUseMore) {
  shard_of_texts shard;
  for (std::uint64_t i = 0; i <= hot_shard::counters; ++i) shard.read(numbered("key", i), 100);
  // Whoever has no counter is always the first to be used, and so ahead of the others.
  auto const outside = [&] {
    std::uint64_t which = 0;
    while (shard.low(numbered("key", which)) > 0) ++which;
    return which;
  };
  for (int round = 0; round < 100; ++round) {
    std::uint64_t const first = outside();
    shard.read(numbered("key", first));
    for (std::uint64_t i = 0; i <= hot_shard::counters; ++i) {
      if (i != first) shard.read(numbered("key", i));
    }
  }
  EXPECT_LE((*shard).changes(), 10u);
}

TEST(HotShard, AKeyThatWasNotUsedInAHalfLosesItsCounter) {
  shard_of_texts shard;
  for (std::uint64_t i = 0; i < hot_shard::counters; ++i) shard.read(numbered("key", i), 1000);
  shard.end_half();
  EXPECT_EQ(shard.low("key7"), 1000u);
  shard.end_half();
  EXPECT_EQ(shard.high("key7"), 0u);
  // All of them are free: no counter is taken from anybody.
  for (std::uint64_t i = 0; i < hot_shard::counters; ++i) shard.read(numbered("other", i));
  EXPECT_EQ(shard.low("other7"), 1u);
  EXPECT_EQ((*shard).changes(), 0u);
}

TEST(HotShard, ReadsAndWritesAreApart) {
  shard_of_texts shard;
  shard.used("a", {10, 3});
  shard.end_half();
  shard.used("a", {5, 1});
  EXPECT_EQ(shard.bounds_of("a").low, (hot_uses{15, 4}));
  EXPECT_EQ((*shard).total(), (hot_uses{15, 4}));
}

TEST(HotShard, KeysAreToldApartBeyondWhatIsKept) {
  shard_of_texts shard;
  std::string const begin(hot_key_id::kept_bytes, 'k');
  for (char last = 'a'; last <= 'e'; ++last) shard.read(begin + last, 1 + (last - 'a'));
  shard.read(begin, 100);
  shard.read("", 7);
  EXPECT_EQ(shard.low(begin), 100u);
  EXPECT_EQ(shard.low(begin + 'a'), 1u);
  EXPECT_EQ(shard.low(begin + 'e'), 5u);
  EXPECT_EQ(shard.take().at(begin).reads, 115u);  // shown as they are kept
  EXPECT_EQ(shard.low(""), 7u);
}

TEST(HotShard, KeysOfOneHashAreToldApart) {
  auto shard = std::make_unique<hot_shard>();
  for (std::uint64_t i = 0; i < 10; ++i) {
    shard->used(hot_key_id::of(numbered("key", i), 1), {1 + i, 0});
    shard->used(hot_key_id::of(std::string(300 + i, 'k'), 1), {100 + i, 0});
  }
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(shard->bounds_of(hot_key_id::of(numbered("key", i), 1)).low.reads, 1 + i);
    EXPECT_EQ(shard->bounds_of(hot_key_id::of(std::string(300 + i, 'k'), 1)).low.reads, 100 + i);
  }
}

TEST(HotShard, CountsStayAtTheEndOfTheNumbers) {
  shard_of_texts shard;
  shard.used("a", {end_of_numbers, end_of_numbers});
  shard.used("a", {5, 5});
  EXPECT_EQ(shard.low("a"), end_of_numbers);
  EXPECT_EQ(shard.high("a"), end_of_numbers);
  shard.end_half();
  shard.used("a", {end_of_numbers, 1});
  EXPECT_EQ(shard.high("a"), end_of_numbers);
  // Nobody is used clearly more than that: the others are in the sketch.
  for (std::uint64_t i = 0; i < 2 * hot_shard::counters; ++i) {
    shard.read(numbered("key", i), end_of_numbers - 3);
    shard.read(numbered("key", i), i);
    hot_bounds const found = shard.bounds_of(numbered("key", i));
    ASSERT_LE(found.low.reads, found.high.reads);
    ASSERT_GE(found.high.reads, end_of_numbers - 3);
  }
}

/// The true counts of a window, beside the shard.
class true_counts {
 public:
  void used(std::string const& key, hot_uses uses) { live_[key] += uses; }
  void end_half() {
    previous_ = std::move(live_);
    live_.clear();
  }
  hot_uses of(std::string const& key) const {
    auto const in = [&](auto const& half) {
      auto const found = half.find(key);
      return found == half.end() ? hot_uses{} : found->second;
    };
    return in(live_) + in(previous_);
  }

 private:
  std::map<std::string, hot_uses> live_;
  std::map<std::string, hot_uses> previous_;
};

bool within(hot_uses what, hot_bounds bounds) {
  return bounds.low.reads <= what.reads && what.reads <= bounds.high.reads &&
         bounds.low.writes <= what.writes && what.writes <= bounds.high.writes;
}

// Keys rise and fall, so that counters are lost and won with counts in both halves.
TEST(HotShard, EachTrueCountIsWithinItsBounds) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    shard_of_texts shard;
    true_counts truth;
    std::mt19937_64 random(seed);
    for (int half = 0; half < 8; ++half) {
      for (int i = 0; i < 20'000; ++i) {
        std::uint64_t const shifted = 500 * static_cast<std::uint64_t>(half);
        std::string const key = numbered("key", shifted + random() % (1 + random() % 3000));
        hot_uses const uses{random() % 3, random() % 2};
        shard.used(key, uses);
        truth.used(key, uses);
      }
      for (std::uint64_t i = 0; i < 8000; ++i) {
        std::string const key = numbered("key", i);
        ASSERT_TRUE(within(truth.of(key), shard.bounds_of(key))) << key << " in half " << half;
      }
      shard.end_half();
      truth.end_half();
      for (std::uint64_t i = 0; i < 8000; ++i) {
        std::string const key = numbered("key", i);
        ASSERT_TRUE(within(truth.of(key), shard.bounds_of(key))) << key << " after half " << half;
      }
    }
    EXPECT_GT((*shard).changes(), 100u);
  }
}

// Two halves after a key got its counter nothing of the sketch is left in its bounds.
TEST(HotShard, CountsAreExactAfterAWindow) {
  shard_of_texts shard;
  for (std::uint64_t i = 0; i < 100'000; ++i) shard.read(numbered("once", i));
  shard.read("a", 1000);
  EXPECT_GT(shard.high("a"), shard.low("a"));
  for (int half = 0; half < 2; ++half) {
    shard.end_half();
    shard.read("a", 10);
  }
  EXPECT_EQ(shard.low("a"), 20u);
  EXPECT_EQ(shard.high("a"), 20u);
}

TEST(HotShard, ItsSizeIsBounded) { EXPECT_LE(sizeof(hot_shard), 90'000u); }

}  // namespace
}  // namespace herdlock_test
