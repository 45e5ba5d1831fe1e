// The sum over all threads: rates by measured time, the top, and what is known within which bounds.
#include "algo/hot_ledger.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using herdlock::algo::hot_change;
using herdlock::algo::hot_half;
using herdlock::algo::hot_key_id;
using herdlock::algo::hot_key_report;
using herdlock::algo::hot_ledger;
using herdlock::algo::hot_thresholds;
using herdlock::algo::hot_uses;
using namespace std::chrono_literals;
using duration = herdlock::clock::duration;
using time_point = herdlock::clock::time_point;

constexpr hot_thresholds thresholds{
    .threshold = 1000, .min_reads = 32, .reads_per_write = 20, .half = 500ms, .min_hot_time = 0ms};

class ledger_over_time {
 public:
  explicit ledger_over_time(std::size_t most_hot = hot_ledger::most_keys)
      : ledger_(thresholds, most_hot) {
    changes_.reserve(hot_ledger::most_changes);
    tick(0ms);
  }

  bool used(std::string_view key, hot_uses uses) {
    // A hash that orders keys otherwise than their texts.
    std::uint64_t const hash = std::hash<std::string_view>()(key);
    return ledger_.add(hot_key_id::of(key, hash), uses);
  }
  bool read(std::string_view key, std::uint64_t reads) { return used(key, {reads, 0}); }

  /// Adds what the test says between the begin and the end of a tick, `held_up` apart.
  hot_half tick(duration at, std::function<void()> const& reports = {}, duration held_up = 0ms) {
    hot_half const half = ledger_.begin(time_point(at));
    if (reports) reports();
    ledger_.advance(time_point(at + held_up), changes_);
    return half;
  }
  std::vector<std::string> changed(hot_change::kind what) const {
    std::vector<std::string> found;
    for (auto const& one : changes_)
      if (one.what == what) found.push_back(*one.key);
    std::sort(found.begin(), found.end());
    return found;
  }
  std::vector<std::string> became_hot() const { return changed(hot_change::kind::hot); }
  std::vector<std::string> cooled() const { return changed(hot_change::kind::cooled); }
  double rate_of(std::string_view key) const {
    for (hot_key_report const& one : ledger_.top(hot_ledger::most_keys))
      if (*one.key == key) return one.reads_per_second;
    return -1;
  }
  hot_ledger const* operator->() const { return &ledger_; }

 private:
  hot_ledger ledger_;
  std::vector<hot_change> changes_;
};

using texts = std::vector<std::string>;

TEST(HotLedger, ReportsOfOneKeyAreSummedUp) {
  ledger_over_time ledger;
  ledger.tick(100ms, [&] {
    for (int thread = 0; thread < 5; ++thread) ledger.used("a", {20, 1});
    ledger.read("b", 99);
  });
  EXPECT_EQ(ledger.became_hot(), texts{"a"});
  auto const top = ledger->top(10);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(*top[0].key, "a");
  EXPECT_EQ(top[0].uses, (hot_uses{100, 5}));
  EXPECT_TRUE(top[0].hot);
  EXPECT_DOUBLE_EQ(top[0].reads_per_second, 1000);
  EXPECT_FALSE(top[1].hot);
}

TEST(HotLedger, TheTopIsThoseThatAreReadMost) {
  ledger_over_time ledger;
  ledger.tick(100ms, [&] {
    for (std::uint64_t i = 0; i < 100; ++i) ledger.read("key" + std::to_string(i), 1 + i * 7 % 100);
    ledger.used("written", {0, 1000});
  });
  auto const top = ledger->top(3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].uses.reads, 100u);
  EXPECT_EQ(top[1].uses.reads, 99u);
  EXPECT_EQ(top[2].uses.reads, 98u);
  EXPECT_EQ(ledger->top(0).size(), 0u);
  EXPECT_EQ(ledger->top(5000).size(), 101u);
}

TEST(HotLedger, AHalfEndsWithTheFirstTickBehindIt) {
  ledger_over_time ledger;
  EXPECT_EQ(ledger.tick(499ms), hot_half::goes_on);
  EXPECT_EQ(ledger.tick(500ms), hot_half::ends);
  EXPECT_EQ(ledger.tick(999ms), hot_half::goes_on);
  EXPECT_EQ(ledger.tick(1700ms), hot_half::ends);
  EXPECT_EQ(ledger.tick(2100ms), hot_half::goes_on);
  EXPECT_EQ(ledger.tick(2200ms), hot_half::ends);
}

TEST(HotLedger, AKeyThatIsNotReadAnyMoreIsForgottenWithinTwoWindows) {
  ledger_over_time ledger;
  ledger.tick(100ms, [&] {
    ledger.read("hot", 1000);
    ledger.read("cold", 10);
  });
  EXPECT_EQ(ledger.became_hot(), texts{"hot"});
  texts cooled;
  for (auto at = 200ms; at <= 2100ms; at += 100ms) {
    ledger.tick(at);
    for (auto const& key : ledger.cooled()) cooled.push_back(key);
    if (at == 1000ms) {
      EXPECT_EQ(ledger->size(), 1u);
    }
  }
  EXPECT_EQ(cooled, texts{"hot"});
  EXPECT_EQ(ledger->size(), 0u);
  EXPECT_EQ(ledger->hot(), 0u);
}

TEST(HotLedger, ATickThatWasHeldUpMakesNoKeyHot) {
  ledger_over_time ledger;
  ledger.tick(100ms, [&] { ledger.read("a", 90); });
  ledger.tick(3100ms, [&] { ledger.read("a", 2700); });
  EXPECT_EQ(ledger.became_hot(), texts{});
  EXPECT_DOUBLE_EQ(ledger.rate_of("a"), 2790 / 3.1);
}

// 1. a tick begins at 100 ms, 2. it is held up for 100 ms before it comes to the shards, 3. the
// next one begins at 201 ms. The reads of 200 ms are in the first report.
TEST(HotLedger, ATickThatWasHeldUpBeforeItCameToTheShardsMakesNoKeyHot) {
  ledger_over_time ledger;
  ledger.tick(
      100ms, [&] { ledger.read("a", 180); }, 100ms);
  EXPECT_EQ(ledger.became_hot(), texts{});
  ledger.tick(201ms, [&] { ledger.read("a", 1); });
  EXPECT_EQ(ledger.became_hot(), texts{});
}

TEST(HotLedger, WhatWasCountedBeforeTheFirstTickHasNoRate) {
  hot_ledger ledger(thresholds, 10);
  std::vector<hot_change> changes;
  changes.reserve(hot_ledger::most_changes);
  ledger.begin(time_point(1s));
  ledger.add(hot_key_id::of("a", 1), {1'000'000, 0});
  ledger.advance(time_point(1s), changes);
  ledger.begin(time_point(1s + 100ms));
  ledger.add(hot_key_id::of("a", 1), {10, 0});
  ledger.advance(time_point(1s + 100ms), changes);
  EXPECT_TRUE(changes.empty());
  EXPECT_EQ(ledger.top(1).at(0).uses.reads, 1'000'010u);
  EXPECT_DOUBLE_EQ(ledger.top(1).at(0).reads_per_second, 100);
}

TEST(HotLedger, ATimeThatGoesBackMeasuresNothing) {
  ledger_over_time ledger;
  ledger.tick(100ms, [&] { ledger.read("a", 90); });
  ledger.tick(-5000ms, [&] { ledger.read("a", 100'000); });
  EXPECT_EQ(ledger.became_hot(), texts{});
  ledger.tick(-4900ms, [&] { ledger.read("a", 90); });
  EXPECT_EQ(ledger.became_hot(), texts{});
  EXPECT_DOUBLE_EQ(ledger.rate_of("a"), 900);
  // From there it goes on as always.
  ledger.tick(-4800ms, [&] { ledger.read("a", 110); });
  EXPECT_EQ(ledger.became_hot(), texts{"a"});
  EXPECT_EQ(ledger.tick(-4600ms), hot_half::ends);
}

TEST(HotLedger, TimesAtTheEndOfTheNumbersAreNoHarm) {
  ledger_over_time ledger;
  ledger.tick(duration::min());
  EXPECT_EQ(ledger.tick(duration::max(), [&] { ledger.read("a", 1000); }), hot_half::ends);
  EXPECT_EQ(ledger.became_hot(), texts{});
  EXPECT_EQ(ledger.tick(duration::max()), hot_half::goes_on);
  ledger.tick(duration::min());
  EXPECT_EQ(ledger.tick(duration::max()), hot_half::ends);
  EXPECT_EQ(ledger.tick(duration::min() + 1ms), hot_half::goes_on);
  ledger.tick(duration::min() + 101ms, [&] { ledger.read("a", 1000); });
  EXPECT_EQ(ledger.became_hot(), texts{"a"});
}

TEST(HotLedger, KeysWithOneTextAreApartByHashAndSize) {
  hot_ledger ledger(thresholds, 10);
  std::string const kept(hot_key_id::kept_bytes, 'k');
  EXPECT_TRUE(ledger.add({1, 300, kept}, {1, 0}));
  EXPECT_TRUE(ledger.add({2, 300, kept}, {1, 0}));
  EXPECT_TRUE(ledger.add({1, 301, kept}, {1, 0}));
  EXPECT_TRUE(ledger.add({1, 300, kept}, {1, 0}));
  EXPECT_EQ(ledger.size(), 3u);
}

TEST(HotLedger, WhenAllRoomIsTakenThoseUsedLeastMakeRoom) {
  ledger_over_time ledger;
  ledger.tick(100ms, [&] {
    for (std::size_t i = 0; i < hot_ledger::most_keys; ++i) {
      EXPECT_TRUE(ledger.read("key" + std::to_string(i), i < 100 ? 50 : 1));
    }
  });
  EXPECT_EQ(ledger->size(), hot_ledger::most_keys);
  ledger.tick(200ms, [&] { EXPECT_TRUE(ledger.read("one more", 1)); });
  EXPECT_EQ(ledger->size(), hot_ledger::most_keys / 2 + 1);
  auto const top = ledger->top(100);
  EXPECT_TRUE(
      std::all_of(top.begin(), top.end(), [](auto const& one) { return one.uses.reads == 50; }));
  for (int i = 0; i < 100'000; ++i) ledger.read("more" + std::to_string(i), 1);
  EXPECT_LE(ledger->size(), hot_ledger::most_keys);
  EXPECT_EQ(ledger->top(100).back().uses.reads, 50u);
}

TEST(HotLedger, HotKeysDoNotMakeRoom) {
  ledger_over_time ledger;
  ledger.tick(100ms, [&] {
    for (std::size_t i = 0; i < hot_ledger::most_keys; ++i) {
      ledger.read("key" + std::to_string(i), 1000);
    }
  });
  EXPECT_EQ(ledger->hot(), hot_ledger::most_keys);
  ledger.tick(200ms, [&] { EXPECT_FALSE(ledger.read("one more", 100'000)); });
  EXPECT_EQ(ledger->size(), hot_ledger::most_keys);
}

TEST(HotLedger, NoMoreKeysAreHotThanMayBe) {
  ledger_over_time ledger(2);
  ledger.tick(100ms, [&] {
    for (char const* key : {"a", "b", "c"}) ledger.read(key, 1000);
  });
  EXPECT_EQ(ledger.became_hot().size(), 2u);
  EXPECT_EQ(ledger->hot(), 2u);
  EXPECT_EQ(ledger->refused(), 1u);
  texts const hot = ledger.became_hot();
  char const* const third = hot == texts{"a", "b"} ? "c" : hot == texts{"a", "c"} ? "b" : "a";
  // The third one is read on, and becomes hot when there is room.
  texts later;
  for (auto at = 200ms; at <= 2500ms; at += 100ms) {
    ledger.tick(at, [&] { ledger.read(third, 1000); });
    for (auto const& key : ledger.became_hot()) later.push_back(key);
  }
  EXPECT_EQ(later, texts{third});
  EXPECT_EQ(ledger->hot(), 1u);
}

TEST(HotLedger, NothingThatATickFindsIsAllocated) {
  std::vector<hot_change> changes;
  changes.reserve(hot_ledger::most_changes);
  auto const* const before = changes.data();
  hot_ledger all(thresholds, hot_ledger::most_keys);
  all.begin(time_point(0ms));
  all.advance(time_point(0ms), changes);
  all.begin(time_point(100ms));
  for (std::uint64_t i = 0; i < hot_ledger::most_keys; ++i) {
    all.add(hot_key_id::of("key", i), {1000, 0});
  }
  all.advance(time_point(100ms), changes);
  EXPECT_EQ(changes.size(), hot_ledger::most_keys);
  EXPECT_EQ(changes.data(), before);
}

}  // namespace
}  // namespace herdlock_test
