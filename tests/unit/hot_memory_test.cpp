// hot_keys where memory ends: nothing is thrown where keys are used, and no use is lost. And what
// allocates at all.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <herdlock/hot_keys.hpp>

#include "algo/hot_shard.hpp"

namespace {
std::atomic<bool> memory_ends{false};
std::atomic<std::size_t> allocations{0};

void* allocated(void* got) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (got) return got;
  throw std::bad_alloc();
}
}  // namespace

// Without inlining, or GCC takes the free() of a new for a mistake. All of them: a sanitizer has
// its own of those that are left out.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return allocated(memory_ends ? nullptr : std::malloc(size));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  auto const unit = static_cast<std::size_t>(alignment);
  std::size_t const rounded = (size + unit - 1) / unit * unit;
  return allocated(memory_ends ? nullptr : std::aligned_alloc(unit, rounded));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  try {
    return operator new(size);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment,
                                     std::nothrow_t const&) noexcept {
  try {
    return operator new(size, alignment);
  } catch (std::bad_alloc const&) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new[](std::size_t size, std::nothrow_t const& how) noexcept {
  return operator new(size, how);
}
[[gnu::noinline]] void operator delete(void* what) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete(void* what, std::size_t) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete(void* what, std::align_val_t) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete(void* what, std::size_t, std::align_val_t) noexcept {
  std::free(what);
}
[[gnu::noinline]] void operator delete[](void* what) noexcept { std::free(what); }
[[gnu::noinline]] void operator delete[](void* what, std::size_t) noexcept { std::free(what); }

namespace herdlock_test {
namespace {

using herdlock::clock;
using herdlock::hot_key;
using herdlock::hot_keys;
using herdlock::algo::hot_half;
using herdlock::algo::hot_key_id;
using herdlock::algo::hot_report;
using herdlock::algo::hot_shard;
using namespace std::chrono_literals;

clock::time_point at(clock::duration since) { return clock::time_point(since); }

template <class Work>
void without_memory(Work const& work) {
  memory_ends = true;
  work();
  memory_ends = false;
}

std::size_t allocations_of(std::function<void()> const& work) {
  std::size_t const before = allocations;
  work();
  return allocations - before;
}

TEST(HotMemory, AThreadWithoutMemoryForItsShardCountsInTheCommonOne) {
  hot_keys const keys;
  std::jthread([&] {
    without_memory([&] { keys.read("a", 10); });
    EXPECT_EQ(keys.stats().shards, 1u);
    EXPECT_EQ(keys.stats().reads, 10u);
    keys.tick(at(0ms));
    keys.read("a", 5);
  }).join();
  EXPECT_EQ(keys.stats().shards, 2u);
  keys.tick(at(1ms));
  auto const top = keys.top(1).at(0);
  EXPECT_LE(top.reads.low, 15u);
  EXPECT_GE(top.reads.high, 15u);
}

TEST(HotMemory, AKeyWithoutMemoryForItsTextIsCountedBySketch) {
  hot_keys const keys;
  keys.read("b");
  without_memory([&] { keys.read("a", 10); });
  keys.read("a", 5);
  keys.tick(at(0ms));  // there is memory again
  keys.read("a", 5);
  keys.tick(at(1ms));
  auto const top = keys.top(1).at(0);
  ASSERT_EQ(top.key, "a");
  EXPECT_GE(top.reads.low, 5u);
  EXPECT_EQ(top.reads.high, 20u);
  EXPECT_EQ(keys.stats().reads, 21u);
}

TEST(HotMemory, ATickWithoutMemoryLosesNoUse) {
  std::vector<std::string> hot;
  hot.reserve(10);
  hot_keys const keys({.threshold = 1000, .window = 1s, .on_hot = [&](std::string_view key) {
                         hot.emplace_back(key);
                       }});
  keys.read("known");
  keys.tick(at(0ms));
  keys.read("known", 1000);
  keys.read("a", 1000);
  without_memory([&] { keys.tick(at(100ms)); });
  EXPECT_EQ(hot, std::vector<std::string>{"known"});
  EXPECT_EQ(keys.stats().reports_left_out, 1u);
  keys.read("a", 1000);
  keys.tick(at(200ms));
  EXPECT_EQ(hot, (std::vector<std::string>{"known", "a"}));
  for (hot_key const& one : keys.top(2)) {
    std::uint64_t const had = one.key == "a" ? 2000 : 1001;
    EXPECT_LE(one.reads.low, had);
    EXPECT_EQ(one.reads.high, had) << one.key;
  }
}

TEST(HotMemory, AskingWithoutMemoryThrowsAndHarmsNobody) {
  hot_keys const keys;
  keys.read("a", 3);
  keys.tick(at(0ms));
  without_memory([&] { EXPECT_THROW(keys.top(1), std::bad_alloc); });
  EXPECT_EQ(keys.top(1).at(0).reads.low, 3u);
}

TEST(HotMemory, AUseOfAKeyThatHoldsACounterAllocatesNothing) {
  hot_keys const keys;
  std::string const key = "a key of some more bytes than fit into a string";
  keys.read(key);
  EXPECT_EQ(allocations_of([&] {
              for (int i = 0; i < 1000; ++i) keys.read(key);
            }),
            0u);
}

TEST(HotMemory, OneTimeKeysHardlyAllocate) {
  hot_keys const keys;
  std::string key = "once 0000000";
  std::size_t number = 0;
  auto const uses = [&] {
    for (int i = 0; i < 100'000; ++i) {
      for (std::size_t n = ++number, digit = key.size(); n > 0; n /= 10)
        key[--digit] = static_cast<char>('0' + n % 10);
      keys.read(key);
    }
  };
  EXPECT_LE(allocations_of(uses), 300u);  // shard, counters
  for (int tick = 0; tick < 4; ++tick) {
    keys.tick(at(tick * 10s));
    EXPECT_LE(allocations_of(uses), 300u);
  }
}

// A shard is locked meanwhile, and its thread waits.
TEST(HotMemory, LookingAtAShardAllocatesNothing) {
  auto shard = std::make_unique<hot_shard>();
  std::vector<hot_report> reports(hot_shard::counters);
  auto const id = [](std::uint64_t i) { return hot_key_id::of("a key", i * 0x9e3779b97f4a7c15); };
  for (std::uint64_t i = 0; i < 1000; ++i) shard->used(id(i), {1 + i, 0});
  std::size_t taken = 0;
  EXPECT_EQ(allocations_of([&] {
              taken = shard->take(hot_shard::reports(reports), hot_half::ends);
              for (std::uint64_t i = 0; i < 1000; ++i) shard->bounds_of(id(i));
            }),
            0u);
  EXPECT_EQ(taken, hot_shard::counters);
}

}  // namespace
}  // namespace herdlock_test
