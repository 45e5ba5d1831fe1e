// The table of the near cache while others change it: what was dropped or ended before a look is
// not found by it, whoever hit it and however the threads come and go.
#include <atomic>
#include <thread>
#include <vector>

#include "near_table_fixture.hpp"

namespace herdlock_test {
namespace {

constexpr int changes = 3000;
constexpr int most_keys = 4;

struct numbers_table : near_table {
  explicit numbers_table(near_table_options options = {}) : near_table(options) {
    trust(first, never);
  }
  bool keep(std::string_view key, int number, near_generation in = first) {
    return insert(key, {in, never}, {std::make_shared<int const>(number), sizeof number}, at(0));
  }
  int get(std::string_view key) {
    near_hit hit = find(key, at(0));
    return hit ? *std::move(hit).as<int>() : -1;
  }
};

std::string key_of(int i) { return "key " + std::to_string(i % most_keys); }

/// Readers of all most_keys, who may see no number below `least`; and one who comes and goes.
class readers {
 public:
  explicit readers(numbers_table& table) : table_(table) {
    for (int i = 0; i < 2; ++i) {
      threads_.emplace_back([this] {
        while (!stop_) look();
      });
    }
    threads_.emplace_back([this] {
      while (!stop_) std::thread([this] { look(); }).join();
    });
  }
  ~readers() { stop_ = true; }

  /// Waits until they have looked at everything so often.
  void wait_for_looks(std::uint64_t count) {
    auto const target = looks_ + count;
    while (looks_ < target) std::this_thread::yield();
  }
  std::uint64_t hits() {
    stop_ = true;
    threads_.clear();
    return hits_;
  }

  std::atomic<int> least{0};

 private:
  void look() {
    for (int i = 0; i < 3 * most_keys; ++i) {
      int const floor = least;
      int const seen = table_.get(key_of(i));
      if (seen == -1) continue;
      EXPECT_GE(seen, floor);
      hits_.fetch_add(1, std::memory_order_relaxed);
    }
    looks_.fetch_add(1, std::memory_order_relaxed);
  }

  numbers_table& table_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> hits_{0};
  std::atomic<std::uint64_t> looks_{0};
  std::vector<std::jthread> threads_;
};

TEST(NearTableRaces, WhatWasDroppedIsNotFoundAfterwards) {
  numbers_table table;
  readers others(table);
  for (int number = 1; number <= changes; ++number) {
    for (int i = 0; i < most_keys; ++i) table.keep(key_of(i), number);
    if (number % 10 == 0) others.wait_for_looks(3);
    for (int i = 0; i < most_keys; ++i) table.drop(key_of(i));
    others.least = number + 1;
  }
  EXPECT_GT(others.hits(), 1000u);
  EXPECT_EQ(table.counts().entries, 0u);
}

TEST(NearTableRaces, WhatWasReplacedIsNotFoundAfterwards) {
  numbers_table table;
  readers others(table);
  for (int number = 1; number <= changes; ++number) {
    for (int i = 0; i < most_keys; ++i) table.keep(key_of(i), number);
    others.least = number;
    if (number % 10 == 0) others.wait_for_looks(3);
  }
  EXPECT_GT(others.hits(), 1000u);
}

TEST(NearTableRaces, AGenerationThatEndedIsNotFoundAfterwards) {
  numbers_table table;
  readers others(table);
  for (int number = 1; number <= changes; ++number) {
    auto const generation = near_generation(static_cast<std::uint64_t>(number) + 1);
    table.trust(generation, never);
    for (int i = 0; i < most_keys; ++i) table.keep(key_of(i), number, generation);
    table.trust(generation, never);
    if (number % 10 == 0) others.wait_for_looks(3);
    table.end(generation);
    others.least = number + 1;
    table.sweep(at(0));
  }
  EXPECT_GT(others.hits(), 1000u);
  table.sweep(at(0));
  EXPECT_EQ(table.counts().entries, 0u);
}

// Keys that go and come, among them those that others take lines for at this moment.
TEST(NearTableRaces, ManyThreadsChangeAndHitATableThatIsTooSmall) {
  numbers_table table({.entries = 200});
  std::atomic<std::uint64_t> hits{0};
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        std::uint32_t random = static_cast<std::uint32_t>(thread) + 1;
        for (int i = 0; i < 20'000; ++i) {
          random = random * 1664525u + 1013904223u;
          int const number = static_cast<int>((random >> 16) % 300);
          std::string const key = std::to_string(number);
          int const seen = table.get(key);
          if (seen == -1) {
            table.keep(key, number);
            continue;
          }
          ASSERT_EQ(seen, number);
          hits.fetch_add(1, std::memory_order_relaxed);
          if (i % 16 == 0) table.drop(key);
          if (i % 5000 == 0) table.clear();
          if (i % 1000 == 0) table.sweep(at(0));
        }
      });
    }
  }
  EXPECT_GT(hits, 10'000u);
  auto const figures = table.counts();
  EXPECT_EQ(figures.hits, hits);
  EXPECT_LE(figures.entries, 200u);
  table.clear();
  EXPECT_EQ(table.counts().bytes, 0u);
}

}  // namespace
}  // namespace herdlock_test
