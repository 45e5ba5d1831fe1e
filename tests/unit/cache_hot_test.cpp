// What a cache counts of its own use, and what it says of it, over a scripted store.
#include <herdlock/metrics.hpp>

#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheHot : public CacheTest {
 protected:
  CacheHot() { open_with(hot_keys_options{.threshold = 10, .min_reads = 5}); }

  void open_with(std::optional<hot_keys_options> hot) {
    open({.prefix = "p:", .hot = {.keys = std::move(hot)}});
    script->entries["p:k"].value = cache_value("there");
  }
  void ask(std::string_view key, int times = 1) {
    for (int i = 0; i < times && strings; ++i) {
      load(calls.emplace_back(), key);
      settle();
    }
  }
  /// Ticks come with the calls.
  bool ask_until(std::function<bool()> const& holds) {
    return run_until([&] {
      ask("k");
      return holds();
    });
  }
  bool is_hot(std::string_view key) const {
    for (auto const& one : strings->most_read(100)) {
      if (one.key == key) return one.hot;
    }
    return false;
  }

  std::deque<call> calls;
};

TEST_F(CacheHot, EachCallIsCountedHoweverItIsAnswered) {
  loader.let_go();
  ask("k", 3);
  ask("missing", 2);
  strings->async_get("k", herdlock_test::as_result([](result<cached<std::string>> const&) {}));
  settle();
  EXPECT_EQ(strings->hot_stats().reads, 6u);
  EXPECT_EQ(strings->hot_stats().writes, 0u) << "what a load stores is no change";
}

TEST_F(CacheHot, WritesAreCountedApart) {
  strings->async_put("k", "new", herdlock_test::as_result([](result<void> const&) {}));
  strings->async_invalidate("k", herdlock_test::as_result([](result<bool> const&) {}));
  settle();
  EXPECT_EQ(strings->hot_stats().reads, 0u);
  EXPECT_EQ(strings->hot_stats().writes, 2u);
}

TEST_F(CacheHot, AKeyThatIsReadOftenIsHotByItsNameWithoutThePrefix) {
  std::vector<std::string> told;
  open_with(hot_keys_options{.threshold = 10, .min_reads = 5, .on_hot = [&](std::string_view key) {
                               told.emplace_back(key);
                             }});
  ASSERT_TRUE(ask_until([&] { return is_hot("k"); }));
  EXPECT_EQ(told, std::vector<std::string>{"k"});
  EXPECT_EQ(strings->hot_stats().became_hot, 1u);
}

TEST_F(CacheHot, TheStoreTellsOfTheHotKeysOfItsCaches) {
  ASSERT_TRUE(ask_until([&] { return is_hot("k"); }));
  EXPECT_EQ(opened->metrics().caches.became_hot, 1u);
  EXPECT_EQ(opened->metrics().caches.hot, 1u);
  strings.reset();
  EXPECT_TRUE(run_until([&] { return opened->metrics().caches.hot == 0; })) << "it has gone";
  EXPECT_EQ(opened->metrics().caches.became_hot, 1u);
}

TEST_F(CacheHot, AKeyThatNobodyReadsAnyMoreCools) {
  std::vector<std::string> told;
  open_with(hot_keys_options{
      .threshold = 10, .window = 1s, .min_reads = 5, .on_cooled = [&](std::string_view key) {
        told.emplace_back(key);
      }});
  ASSERT_TRUE(ask_until([&] { return is_hot("k"); }));
  EXPECT_TRUE(run_until([&] { return !told.empty(); }));
  EXPECT_EQ(told, std::vector<std::string>{"k"});
}

TEST_F(CacheHot, WhatACallbackThrowsIsCountedAndHarmsNoCall) {
  open_with(hot_keys_options{
      .threshold = 10, .min_reads = 5, .on_hot = [](auto) { throw std::runtime_error("mine"); }});
  ASSERT_TRUE(ask_until([&] { return strings->hot_stats().failed_callbacks == 1; }));
  ask("k");
  EXPECT_EQ(calls.back().value(), "there");
}

TEST_F(CacheHot, ACallbackMayDestroyTheCache) {
  open_with(
      hot_keys_options{.threshold = 10, .min_reads = 5, .on_hot = [&](auto) { strings.reset(); }});
  EXPECT_TRUE(run_until([&] {
    if (strings) ask("k");
    settle();
    return !strings;
  }));
}

TEST_F(CacheHot, BehindACallbackThatDestroysTheCacheNoneIsCalled) {
  int told = 0;
  open_with(hot_keys_options{.threshold = 10, .min_reads = 5, .on_hot = [&](auto) {
                               ++told;
                               strings.reset();
                             }});
  EXPECT_TRUE(run_until([&] {
    for (auto const* key : {"k", "l", "m"}) ask(key, 5);
    settle();
    return !strings;
  }));
  settle();
  EXPECT_EQ(told, 1);
}

// Its last handle goes on another thread than the one that ticks.
TEST(CacheHotThreads, NoCallbackIsCalledWhenTheCacheHasGone) {
  for (int round = 0; round < 20; ++round) {
    auto told = std::make_unique<std::vector<std::string>>();
    hot_keys_options const hot{.threshold = 1, .min_reads = 1, .on_hot = [&](std::string_view key) {
                                 told->emplace_back(key);
                               }};
    {
      cache<std::string> const one(open_store("memory:"), {.hot = {.keys = hot}});
      for (int i = 0; i < 500; ++i) one.get("k" + std::to_string(i % 7));
    }
    EXPECT_LE(told->size(), 7u);
    told.reset();
  }
}

TEST_F(CacheHot, WithoutTheOptionNothingIsCounted) {
  open_with(std::nullopt);
  ask("k", 3);
  EXPECT_EQ(strings->hot_stats().reads, 0u);
  EXPECT_TRUE(strings->most_read(10).empty());
}

TEST_F(CacheHot, AnOptionOutOfItsRangeIsRefusedByItsName) {
  try {
    open_with(hot_keys_options{.threshold = 0});
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), errc::invalid_value);
    EXPECT_NE(std::string(e.what()).find("cache option hot.keys.threshold"), std::string::npos)
        << e.what();
  }
  open_with(std::nullopt);
}

}  // namespace
}  // namespace herdlock::scripted
