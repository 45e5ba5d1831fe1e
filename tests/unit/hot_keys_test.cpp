// hot_keys as users have it: what it takes, what it tells, and callbacks that do what they want.
#include <herdlock/hot_keys.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algo/key_hash.hpp"
#include "cache/fleet/hot_keys_core.hpp"

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using herdlock::clock;
using herdlock::errc;
using herdlock::hot_key;
using herdlock::hot_keys;
using herdlock::hot_keys_options;
using namespace std::chrono_literals;

clock::time_point at(clock::duration since) { return clock::time_point(since); }

/// What was called, in order.
struct told {
  std::vector<std::string> all;

  hot_keys_options options() {
    return {
        .threshold = 1000,
        .window = 1s,
        .on_hot = [this](std::string_view key) { all.push_back("hot " + std::string(key)); },
        .on_cooled = [this](std::string_view key) { all.push_back("cooled " + std::string(key)); }};
  }
};

std::string refusal_of(hot_keys_options const& options) {
  try {
    hot_keys const refused(options);
  } catch (herdlock::error const& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::invalid_value));
    return why.what();
  }
  return "";
}

TEST(HotKeys, AnOptionOutOfItsRangeIsRefusedByName) {
  auto const nan = std::numeric_limits<double>::quiet_NaN();
  for (double const wrong : {0.0, -1.0, 1.1e12, nan}) {
    EXPECT_NE(refusal_of({.threshold = wrong}).find("option threshold"), std::string::npos);
  }
  for (auto const wrong : {0ms, 19ms, herdlock::milliseconds(24h + 1ms)}) {
    EXPECT_NE(refusal_of({.window = wrong}).find("option window"), std::string::npos);
  }
  for (std::uint64_t const wrong : {0, 1'000'001}) {
    EXPECT_NE(refusal_of({.min_reads = wrong}).find("option min_reads"), std::string::npos);
  }
  for (double const wrong : {-0.1, 1.1e9, nan}) {
    EXPECT_NE(refusal_of({.reads_per_write = wrong}).find("option reads_per_write"),
              std::string::npos);
  }
  for (auto const wrong : {-1ms, herdlock::limits::max_ttl + 1ms}) {
    EXPECT_NE(refusal_of({.min_hot_time = wrong}).find("option min_hot_time"), std::string::npos);
  }
  for (std::size_t const wrong : {0, 1025}) {
    EXPECT_NE(refusal_of({.max_hot = wrong}).find("option max_hot"), std::string::npos);
  }
}

TEST(HotKeys, OptionsAtTheirBoundsAreTaken) {
  EXPECT_EQ(refusal_of({.threshold = 1e12,
                        .window = 20ms,
                        .min_reads = 1,
                        .reads_per_write = 0,
                        .min_hot_time = 0ms,
                        .max_hot = 1}),
            "");
  EXPECT_EQ(refusal_of({.threshold = 24,
                        .window = 24h,
                        .min_reads = 1'000'000,
                        .reads_per_write = 1e9,
                        .min_hot_time = herdlock::limits::max_ttl,
                        .max_hot = 1024}),
            "");
}

// A key at the threshold's rate was never hot, and nobody was told.
TEST(HotKeys, AThresholdThatIsNeverReachedIsRefusedWithBothNumbers) {
  auto const why = refusal_of({.threshold = 1});
  for (char const* part :
       {"option threshold", "read 1 times", "min_reads (32)", "5000 ms", "6.4"}) {
    EXPECT_NE(why.find(part), std::string::npos) << why;
  }
  EXPECT_EQ(refusal_of({.threshold = 6.4}), "");
  EXPECT_NE(refusal_of({.threshold = 2, .window = 30s}).find("2.14 or more"), std::string::npos);
  EXPECT_EQ(refusal_of({.threshold = 2.14, .window = 30s}), "");
  EXPECT_EQ(refusal_of({.threshold = 1, .window = 64s}), "");
  EXPECT_EQ(refusal_of({.threshold = 0.2, .min_reads = 1}), "");
}

// The bound is where the count itself has it.
TEST(HotKeys, AKeyAtTheSmallestThresholdBecomesHot) {
  for (std::uint64_t const reads : {7, 6}) {
    int hot = 0;
    hot_keys const keys({.threshold = 6.4, .on_hot = [&](auto) { ++hot; }});
    keys.tick(at(0ms));
    for (int second = 1; second <= 60; ++second) {
      keys.read("a", reads);
      keys.tick(at(second * 1000ms));
    }
    EXPECT_EQ(hot, reads == 7 ? 1 : 0);
  }
}

TEST(HotKeys, AKeyBecomesHotAndCools) {
  told told;
  hot_keys const keys(told.options());
  keys.tick(at(0ms));
  keys.read("a", 500);
  keys.read("b", 5);
  EXPECT_TRUE(told.all.empty());
  keys.tick(at(100ms));
  EXPECT_EQ(told.all, std::vector<std::string>{"hot a"});
  EXPECT_TRUE(keys.top(1).at(0).hot);
  for (auto time = 200ms; time <= 2100ms; time += 100ms) keys.tick(at(time));
  EXPECT_EQ(told.all, (std::vector<std::string>{"hot a", "cooled a"}));
  EXPECT_TRUE(keys.top(10).empty());
  auto const stats = keys.stats();
  EXPECT_EQ(stats.became_hot, 1u);
  EXPECT_EQ(stats.cooled, 1u);
  EXPECT_EQ(stats.hot, 0u);
  EXPECT_EQ(stats.known, 0u);
  EXPECT_EQ(stats.reads, 505u);
}

TEST(HotKeys, TheTopTellsReadsWritesAndRates) {
  hot_keys const keys({.window = 1s});
  keys.tick(at(0ms));
  keys.read("a", 10);
  keys.read("a");
  keys.wrote("a");
  keys.wrote("b", 7);
  keys.read("c", 20);
  keys.read("none", 0);
  keys.tick(at(200ms));
  auto const top = keys.top(10);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].key, "c");
  EXPECT_DOUBLE_EQ(top[0].reads_per_second, 100);
  EXPECT_EQ(top[1].key, "a");
  EXPECT_EQ(top[1].reads.low, 11u);
  EXPECT_EQ(top[1].reads.high, 11u);
  EXPECT_EQ(top[1].writes.low, 1u);
  EXPECT_EQ(top[1].writes.high, 1u);
  EXPECT_EQ(top[2].key, "b");
  EXPECT_EQ(top[2].writes.low, 7u);
  EXPECT_EQ(keys.stats().writes, 8u);
}

TEST(HotKeys, ItGoesByItsOwnClock) {
  hot_keys const keys({.threshold = 1e-4, .window = 24h, .min_reads = 1});
  keys.tick();
  keys.read("a", 100);
  keys.tick();
  EXPECT_GT(keys.top(1).at(0).reads_per_second, 0);
  EXPECT_TRUE(keys.top(1).at(0).hot);
}

TEST(HotKeys, AnyBytesAreAKeyAndLongOnesAreCut) {
  hot_keys const keys;
  std::string const zeros(3, '\0');
  std::string const longest(1'000'000, 'x');
  keys.read("", 3);
  keys.read(zeros, 2);
  keys.read(longest, 1);
  keys.tick(at(0ms));
  auto const top = keys.top(3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].key, "");
  EXPECT_EQ(top[1].key, zeros);
  EXPECT_EQ(top[2].key, longest.substr(0, hot_keys::kept_bytes));
}

TEST(HotKeys, CopiesCountTogether) {
  hot_keys const one;
  hot_keys other = one;
  hot_keys const moved = std::move(other);
  one.read("a", 1);
  other.read("a", 2);
  moved.read("a", 3);
  moved.tick();
  EXPECT_EQ(one.top(1).at(0).reads.low, 6u);
}

TEST(HotKeys, WhatACallbackThrowsHarmsNobody) {
  std::vector<std::string> seen;
  hot_keys const keys({.threshold = 1000, .window = 1s, .on_hot = [&](std::string_view key) {
                         seen.emplace_back(key);
                         throw std::runtime_error("not today");
                       }});
  keys.tick(at(0ms));
  keys.read("a", 1000);
  keys.read("b", 1000);
  EXPECT_NO_THROW(keys.tick(at(100ms)));
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(keys.stats().failed_callbacks, 2u);
  EXPECT_EQ(keys.stats().hot, 2u);
  keys.read("c", 1000);
  keys.tick(at(200ms));
  EXPECT_EQ(seen.back(), "c");
}

TEST(HotKeys, ACallbackMayCallEverything) {
  std::optional<hot_keys> keys;
  int calls = 0;
  keys.emplace(
      hot_keys_options{.threshold = 1000, .window = 1s, .on_hot = [&](std::string_view key) {
                         ++calls;
                         keys->read(key, 100);
                         keys->wrote("other");
                         keys->tick(at(300ms));  // does nothing: one is under way
                         EXPECT_EQ(keys->top(1).at(0).key, key);
                         EXPECT_EQ(keys->stats().hot, 1u);
                       }});
  keys->tick(at(0ms));
  keys->read("a", 1000);
  keys->tick(at(100ms));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(keys->top(1).at(0).reads.low, 1000u);
  keys->tick(at(200ms));
  EXPECT_EQ(keys->top(1).at(0).reads.low, 1100u);
  EXPECT_DOUBLE_EQ(keys->top(1).at(0).reads_per_second, 5500);
}

TEST(HotKeys, NoCallbackIsCalledWhenOneHasDestroyedTheHandle) {
  std::optional<hot_keys> keys;
  int calls = 0;
  keys.emplace(hot_keys_options{.threshold = 1000, .window = 1s, .on_hot = [&](auto) {
                                  ++calls;
                                  keys.reset();
                                }});
  keys->tick(at(0ms));
  keys->read("a", 1000);
  keys->read("b", 1000);
  keys->tick(at(100ms));
  EXPECT_EQ(calls, 1);
}

TEST(HotKeys, OneTimeKeysDoNotHideThoseThatAreUsedMost) {
  hot_keys const keys({.threshold = 1000, .window = 1s});
  keys.tick(at(0ms));
  int once = 0;
  for (int round = 1; round <= 30; ++round) {
    for (int i = 0; i < 10'000; ++i) {
      keys.read("once" + std::to_string(once++));
      if (i % 2 == 0) keys.read("often" + std::to_string(i / 2 % 100));
    }
    keys.tick(at(round * 33ms));
  }
  auto const top = keys.top(100);
  EXPECT_EQ(std::count_if(top.begin(), top.end(),
                          [](hot_key const& one) { return one.key.starts_with("often"); }),
            100);
  for (hot_key const& one : top) EXPECT_TRUE(one.hot) << one.key;
  EXPECT_EQ(keys.stats().hot, 100u);
}

// Keys come from outside, and what is known of the hash is known to everybody: so many of them fall
// together with the hot one as somebody can choose who knows all of it but the seed.
TEST(HotKeys, KeysThatAreChosenToCollideDoNotHideTheHotOne) {
  hot_keys const keys({.threshold = 1000, .window = 1s});
  auto const low_bits = [](std::string_view key) {
    return herdlock::detail::key_hash(key, 0) & 0xfff;
  };
  std::vector<std::string> chosen;
  for (int i = 0; chosen.size() < 300; ++i) {
    auto key = "chosen" + std::to_string(i);
    if (low_bits(key) == low_bits("hot")) chosen.push_back(std::move(key));
  }
  keys.tick(at(0ms));
  for (int round = 1; round <= 30; ++round) {
    keys.read("hot", 100);
    for (std::string const& each : chosen) keys.read(each);
    keys.tick(at(round * 33ms));
  }
  auto const top = keys.top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].key, "hot");
  EXPECT_TRUE(top[0].hot);
  EXPECT_LE(top[0].reads.low, 3000u);
  EXPECT_GE(top[0].reads.high, 3000u);
  EXPECT_FALSE(top[1].hot);
}

TEST(HotKeys, EachHasASeedOfItsOwn) {
  std::vector<std::uint64_t> hashes;
  for (int i = 0; i < 4; ++i) {
    herdlock::detail::hot_keys_core core({}, 1, [](auto const&) {});
    hashes.push_back(core.counter().id_of("k").hash);
  }
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace herdlock_test
