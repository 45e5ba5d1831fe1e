// The blocking façade, over memory stores with threads of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <thread>
#include <vector>

#include <herdlock/cache.hpp>
#include <herdlock/lock.hpp>
#include "support/gate.hpp"

namespace herdlock {
namespace {

using namespace std::chrono_literals;
using herdlock_test::eventually;
using herdlock_test::gate;
using text = std::optional<std::string>;

cache_key const key("k");

text load_value(load_context const&) { return "loaded"; }

TEST(BlockingCache, ThreadsThatMissTogetherLoadOnce) {
  cache<std::string> strings(open_store("memory:"));
  std::atomic<int> loads = 0;
  std::atomic<int> answers = 0;
  constexpr int herd = 16;
  std::latch everyone(herd);
  auto loader = [&](load_context const&) -> text {
    ++loads;
    return "loaded";
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < herd; ++i) {
    threads.emplace_back([&, strings] {
      everyone.arrive_and_wait();
      if (strings.get_or_load(key, loader) == "loaded") ++answers;
    });
  }
  threads.clear();
  EXPECT_EQ(loads, 1);
  EXPECT_EQ(answers, herd);
}

// Two cache objects, as two processes would have, over one store.
TEST(BlockingCache, TwoCachesOverOneStoreLoadOnce) {
  auto const shared = open_store("memory:");
  cache<std::string> one(shared), other(shared);
  gate loading, go;
  auto slow = [&](load_context const&) -> text {
    loading.open();
    EXPECT_TRUE(go.wait());
    return "first";
  };
  auto first = std::async(std::launch::async, [&] { return one.get_or_load(key, slow); });
  EXPECT_TRUE(loading.wait());
  auto second = std::async(std::launch::async, [&] { return other.get_or_load(key, load_value); });
  EXPECT_TRUE(eventually([&] { return other.stats().misses > 0; }));
  go.open();
  EXPECT_EQ(first.get(), "first");
  EXPECT_EQ(second.get(), "first");
  EXPECT_EQ(other.stats().loads, 0u);
}

// S5
TEST(BlockingCache, ALoadersExceptionIsAnErrorWithItsText) {
  cache<std::string> strings(open_store("memory:"));
  auto broken = [](load_context const&) -> text { throw std::runtime_error("no table Product"); };
  try {
    strings.get_or_load(key, broken);
    FAIL();
  } catch (error const& e) {
    EXPECT_EQ(e.code(), make_error_code(errc::load_failed));
    EXPECT_STREQ(e.what(), "no table Product");
  }
}

TEST(BlockingCache, PutGetAndInvalidate) {
  cache<std::string> strings(open_store("memory:"), {.prefix = "p:"});
  EXPECT_TRUE(strings.get(key).is_miss());
  strings.put(key, "v");
  EXPECT_EQ(*strings.get(key), "v");
  EXPECT_TRUE(strings.invalidate(key));
  EXPECT_FALSE(strings.invalidate(key));
  EXPECT_EQ(strings.get_or_load(key, [](load_context const&) { return text(); }), std::nullopt);
  EXPECT_TRUE(strings.get(key).is_negative());
}

TEST(BlockingCache, HashesAreKeptAsHashes) {
  cache<hash_fields> products(open_store("memory:"));
  hash_fields const kettle{{"name", "kettle"}};
  auto load = [&](load_context const&) { return std::optional<hash_fields>(kettle); };
  EXPECT_EQ(products.get_or_load(key, load), kettle);
  EXPECT_EQ(*products.get(key), kettle);
}

TEST(BlockingCache, TheLastHandleWaitsForALoaderThatRuns) {
  std::atomic<bool> ended = false;
  gate loading;
  auto until_told = [&](load_context& context) -> text {
    loading.open();
    ended = eventually([&] { return context.stop().stop_requested(); });
    return "late";
  };
  {
    cache<std::string> strings(open_store("memory:"),
                               {.format = cache_format::framed, .freshness = {.grace = 10min}},
                               until_told);
    strings.put(key, "stale");
    EXPECT_TRUE(strings.expire(key));
    EXPECT_EQ(strings.get_or_load(key), "stale") << "it is loaded behind the answer";
    EXPECT_TRUE(loading.wait());
    EXPECT_FALSE(ended);
  }
  EXPECT_TRUE(ended);
}

class LockedCache : public ::testing::Test {
 protected:
  store values = open_store("memory:");
  store locks = open_store("memory:");
};

TEST_F(LockedCache, LoadsUnderALeaseOfTheLockStoreAndGivesItBack) {
  cache<std::string> strings(values, locks, {.prefix = "p:"});
  std::optional<lease_info> during;
  auto loader = [&](load_context const& context) -> text {
    during = lock(locks, "p:k:lock").inspect();
    EXPECT_EQ(context.fencing(), during->fencing);
    return "loaded";
  };
  EXPECT_EQ(strings.get_or_load(key, loader), "loaded");
  EXPECT_TRUE(during.has_value());
  EXPECT_FALSE(lock(locks, "p:k:lock").inspect().has_value()) << "the lock is left behind";
  EXPECT_EQ(*strings.get(key), "loaded");
}

TEST_F(LockedCache, TheSecondLookUnderTheLockSavesTheLoad) {
  cache<std::string> one(values, locks), other(values, locks);
  gate loading, go;
  auto slow = [&](load_context const&) -> text {
    loading.open();
    EXPECT_TRUE(go.wait());
    return "first";
  };
  auto first = std::async(std::launch::async, [&] { return one.get_or_load(key, slow); });
  EXPECT_TRUE(loading.wait());
  auto second = std::async(std::launch::async, [&] { return other.get_or_load(key, load_value); });
  EXPECT_TRUE(eventually([&] { return other.stats().misses > 0; }));
  go.open();
  EXPECT_EQ(first.get(), "first");
  EXPECT_EQ(second.get(), "first");
}

// S6, as far as it goes here: the lock is proved before the value is stored.
TEST_F(LockedCache, ALoaderThatLostItsLockStoresNothing) {
  cache<std::string> strings(values, locks);
  auto robbed = [&](load_context const&) -> text {
    EXPECT_TRUE(lock(locks, "k:lock").force_release());
    return "stale";
  };
  EXPECT_EQ(strings.get_or_load(key, robbed), "stale");
  EXPECT_TRUE(strings.get(key).is_miss());
  EXPECT_EQ(strings.stats().superseded, 1u);
}

TEST_F(LockedCache, AFailedLoadGivesTheLockBack) {
  cache<std::string> strings(values, locks);
  auto broken = [](load_context const&) -> text { throw std::runtime_error("broken"); };
  EXPECT_THROW(strings.get_or_load(key, broken), error);
  EXPECT_FALSE(lock(locks, "k:lock").inspect().has_value());
  EXPECT_EQ(strings.get_or_load(key, load_value), "loaded");
}

}  // namespace
}  // namespace herdlock
