// Counts what keyed_mutex allocates. In an executable of its own, as it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <herdlock/keyed_mutex.hpp>
#include <new>
#include <thread>
#include <vector>

#include "support/eventually.hpp"

namespace {

std::atomic<std::size_t> allocations{0};
std::atomic<std::ptrdiff_t> live_blocks{0};

void* counted(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  std::size_t const rounded = (size + alignment - 1) / alignment * alignment;
  void* block = std::aligned_alloc(alignment, rounded);
  if (!block) throw std::bad_alloc();
  return block;
}

void counted_free(void* block) noexcept {
  if (!block) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}

}  // namespace

// All of them, as a sanitizer has its own of each. Not inlined: the compiler would see malloc and
// free behind new and delete, and warn.
#define NOINLINE [[gnu::noinline]]
constexpr std::size_t usual = alignof(std::max_align_t);
NOINLINE void* operator new(std::size_t size) { return counted(size, usual); }
NOINLINE void* operator new[](std::size_t size) { return counted(size, usual); }
NOINLINE void* operator new(std::size_t size, std::nothrow_t const&) noexcept {
  return counted(size, usual);
}
NOINLINE void* operator new[](std::size_t size, std::nothrow_t const&) noexcept {
  return counted(size, usual);
}
NOINLINE void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
NOINLINE void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
NOINLINE void operator delete(void* block) noexcept { counted_free(block); }
NOINLINE void operator delete[](void* block) noexcept { counted_free(block); }
NOINLINE void operator delete(void* block, std::size_t) noexcept { counted_free(block); }
NOINLINE void operator delete[](void* block, std::size_t) noexcept { counted_free(block); }
NOINLINE void operator delete(void* block, std::align_val_t) noexcept { counted_free(block); }
NOINLINE void operator delete[](void* block, std::align_val_t) noexcept { counted_free(block); }
NOINLINE void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  counted_free(block);
}
NOINLINE void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  counted_free(block);
}

namespace herdlock {
namespace {

using guard = keyed_mutex::guard;

std::vector<std::string> make_keys(std::size_t count, std::size_t bytes) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    std::string key = std::to_string(i);
    keys.push_back(std::string(bytes - key.size(), 'k') + key);
  }
  return keys;
}

TEST(keyed_mutex_memory, AnUncontendedLockAllocatesNothingFromTheFirstOneOn) {
  for (std::size_t bytes : {std::size_t{8}, std::size_t{40}, keyed_mutex::inline_key_bytes}) {
    auto const keys = make_keys(10'000, bytes);
    keyed_mutex mutex;
    std::size_t const before = allocations;
    for (auto const& key : keys) guard held = mutex.lock(key);
    for (auto const& key : keys) EXPECT_TRUE(mutex.try_lock(key));
    EXPECT_EQ(allocations - before, 0u) << bytes;
  }
}

TEST(keyed_mutex_memory, AKeyOverTheInlineLimitCostsOneAllocation) {
  auto const keys = make_keys(1000, keyed_mutex::inline_key_bytes + 1);
  keyed_mutex mutex;
  std::size_t const before = allocations;
  std::ptrdiff_t const live = live_blocks;
  for (auto const& key : keys) guard held = mutex.lock(key);
  EXPECT_EQ(allocations - before, keys.size());
  EXPECT_EQ(live_blocks - live, 0);
}

TEST(keyed_mutex_memory, IdleKeysCostNoMemory) {
  auto const keys = make_keys(20'000, 40);
  keyed_mutex mutex;
  std::vector<guard> held;
  held.reserve(keys.size());
  std::ptrdiff_t const before = live_blocks;
  for (int round = 0; round < 3; ++round) {
    for (auto const& key : keys) held.push_back(mutex.lock(key));
    EXPECT_GT(live_blocks - before, 10'000) << "each held key has an entry";
    held.clear();
    std::ptrdiff_t const spare_blocks = 64 * keyed_mutex::spare_entries_per_shard;
    EXPECT_LE(live_blocks - before, spare_blocks) << "the spare pool, and no bucket array";
  }
}

TEST(keyed_mutex_memory, KeysThatWereWaitedForCostNoMemoryEither) {
  keyed_mutex mutex;
  std::ptrdiff_t const before = live_blocks;
  {
    guard held = mutex.lock("a");
    std::thread waiter([&] { guard mine = mutex.lock("a"); });
    EXPECT_TRUE(herdlock_test::eventually([&] { return mutex.waiting("a") > 0; }));
    held.unlock();
    waiter.join();
  }
  EXPECT_EQ(live_blocks - before, 0);
}

}  // namespace
}  // namespace herdlock
