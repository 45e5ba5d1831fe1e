// hot_keys among threads: each counts apart, nothing is lost, and there are not more shards than
// may be.
#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <herdlock/hot_keys.hpp>

#include "local/thread_number.hpp"

namespace herdlock_test {
namespace {

using herdlock::hot_keys;
using herdlock::detail::most_numbered_threads;

// The first one is for the threads without one of their own.
constexpr std::size_t common_shards = 1;

TEST(HotKeysThreads, NoUseIsLostBetweenThreadsAndTicks) {
  hot_keys const keys({.window = std::chrono::hours(1)});
  constexpr std::size_t threads = 4;
  constexpr std::uint64_t each = 20'000;
  std::latch ready(threads);
  std::atomic<bool> done{false};
  {
    std::jthread ticker([&] {
      while (!done) {
        keys.tick();
        for (auto const& one : keys.top(10)) EXPECT_LE(one.reads.low, one.reads.high);
      }
    });
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        ready.arrive_and_wait();
        std::string const own = "own" + std::to_string(i);
        for (std::uint64_t n = 0; n < each; ++n) {
          keys.read("common");
          keys.wrote(own);
        }
      });
    }
    all.clear();
    done = true;
  }
  keys.tick();
  auto const top = keys.top(10);
  ASSERT_EQ(top.size(), 1 + threads);
  EXPECT_EQ(top[0].key, "common");
  EXPECT_EQ(top[0].reads.low, threads * each);
  EXPECT_EQ(top[0].reads.high, threads * each);
  for (std::size_t i = 1; i < top.size(); ++i) EXPECT_EQ(top[i].writes.low, each);
  EXPECT_EQ(keys.stats().reads, threads * each);
  EXPECT_EQ(keys.stats().writes, threads * each);
}

TEST(HotKeysThreads, ThreadsBeyondTheBoundShareAShard) {
  hot_keys const keys;
  constexpr std::size_t threads = most_numbered_threads + 20;
  std::latch all_have_read(threads);
  std::atomic<std::size_t> without_number{0};
  {
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&] {
        without_number += herdlock::detail::thread_number() == most_numbered_threads;
        for (int n = 0; n < 10; ++n) keys.read("a");
        all_have_read.arrive_and_wait();
      });
    }
  }
  EXPECT_GE(without_number, 20u);
  keys.tick();
  EXPECT_EQ(keys.top(1).at(0).reads.low, 10 * threads);
  EXPECT_LE(keys.stats().shards, most_numbered_threads + common_shards);
  EXPECT_EQ(keys.stats().shards, threads - without_number + common_shards);
}

TEST(HotKeysThreads, AThreadThatEndsLeavesItsShardToTheNext) {
  hot_keys const keys;
  for (int i = 0; i < 100; ++i) std::jthread([&] { keys.read("a"); });
  EXPECT_LE(keys.stats().shards, 1 + common_shards);
  keys.tick();
  EXPECT_EQ(keys.top(1).at(0).reads.low, 100u);
}

// What a key had in a thread where it holds no counter is within its bounds, too.
TEST(HotKeysThreads, TheBoundsAreThoseOfAllThreads) {
  hot_keys const keys({.window = std::chrono::hours(1)});
  keys.read("a", 1000);
  std::jthread([&] {
    for (int i = 0; i < 256; ++i) keys.read("other" + std::to_string(i), 1000);
    keys.read("a", 500);
  }).join();
  keys.tick();
  for (auto const& one : keys.top(300)) {
    if (one.key != "a") continue;
    EXPECT_EQ(one.reads.low, 1000u);
    EXPECT_GE(one.reads.high, 1500u);
    return;
  }
  ADD_FAILURE() << "it is not known";
}

TEST(HotKeysThreads, OnlyOneTickIsUnderWay) {
  std::atomic<int> calls{0};
  std::atomic<int> at_once{0};
  hot_keys const keys({.threshold = 0.2, .min_reads = 1, .on_hot = [&](auto) {
                         EXPECT_EQ(++at_once, 1);
                         ++calls;
                         --at_once;
                       }});
  keys.tick();
  std::vector<std::jthread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) {
        keys.read("key" + std::to_string(i) + "," + std::to_string(n));
        keys.tick();
      }
    });
  }
  all.clear();
  keys.tick();
  EXPECT_EQ(calls, 200);
}

}  // namespace
}  // namespace herdlock_test
