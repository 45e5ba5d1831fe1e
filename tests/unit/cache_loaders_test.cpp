// What a call is given is used only while the call runs; what may run behind an answer is the
// cache's own. Over memory stores with threads of their own.
#include <gtest/gtest.h>
#include <pthread.h>

#include <boost/asio/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <thread>
#include <vector>

#include <herdlock/cache.hpp>
#include "support/gate.hpp"

namespace herdlock {
namespace {

using namespace std::chrono_literals;
using herdlock_test::eventually;
using herdlock_test::gate;
using text = std::optional<std::string>;

std::string failure_of(auto&& call) {
  try {
    call();
  } catch (error const& e) {
    return e.code().message() + ": " + e.what();
  }
  return "no failure";
}

bool contains(std::string const& all, std::string const& part) {
  return all.find(part) != std::string::npos;
}

TEST(CacheLoaders, ABlockingCallRunsItsLoaderOnItsOwnThread) {
  cache<std::string> const strings(open_store("memory:"));
  std::thread::id where;
  strings.get_or_load("k", [&] {
    where = std::this_thread::get_id();
    return std::string("loaded");
  });
  EXPECT_EQ(where, std::this_thread::get_id());
  using values = std::map<std::string, std::string>;
  strings.get_many_or_load({"a", "b"}, [&](std::vector<std::string> const& keys) {
    where = keys.size() == 2 ? std::this_thread::get_id() : std::thread::id();
    return values{{"a", "1"}, {"b", "2"}};
  });
  EXPECT_EQ(where, std::this_thread::get_id());
}

TEST(CacheLoaders, ACallWhoseTimeIsOverEndsWhenItsLoaderHasAndWithItsValue) {
  auto const store = open_store("memory:");
  cache<std::string> const strings(store, {.wait = 10ms});
  bool was_asked = false;
  auto const got = strings.get_or_load("k", [&](load_context& of) -> text {
    was_asked = eventually([&] { return of.stop().stop_requested(); });
    return "late";
  });
  EXPECT_TRUE(was_asked) << "nobody else waits";
  EXPECT_EQ(got, "late");
  EXPECT_EQ(*strings.get("k"), "late") << "its claim was still held";
  auto const told = store.warnings();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(contains(told.front(), "cache(store, options, loader)")) << told.front();
  strings.invalidate("k");
  EXPECT_TRUE(contains(failure_of([&] {
                         strings.get_or_load("k", [](load_context& of) -> text {
                           eventually([&] { return of.stop().stop_requested(); });
                           throw std::runtime_error("stopped");
                         });
                       }),
                       "no value for k"));
  EXPECT_EQ(store.warnings().size(), 1u);
}

TEST(CacheLoaders, WhileAnotherThreadWaitsALoaderGoesOnBehindTheTimeOfItsCall) {
  cache<std::string> const patient(open_store("memory:"), {.wait = 100ms});
  gate loading;
  std::atomic<bool> was_asked = false;
  auto first = std::async(std::launch::async, [&] {
    return patient.get_or_load("k", [&](load_context& of) -> text {
      loading.open();
      // Each of those who wait in turn, until the last of them has left.
      was_asked = eventually([&] { return of.stop().stop_requested(); });
      return "loaded";
    });
  });
  ASSERT_TRUE(loading.wait());
  auto const second = failure_of([&] { patient.get_or_load("k", [] { return "never"; }); });
  EXPECT_TRUE(contains(second, "no value for k")) << second;
  EXPECT_EQ(first.get(), "loaded");
  EXPECT_TRUE(was_asked);
}

TEST(CacheLoaders, WithALoaderOfItsOwnACallEndsInTimeAndTheLoadGoesOn) {
  gate go;
  std::atomic<int> loads = 0;
  cache<std::string> const strings(open_store("memory:"), {.wait = 10ms}, [&]() -> text {
    ++loads;
    EXPECT_TRUE(go.wait());
    return "loaded";
  });
  EXPECT_TRUE(contains(failure_of([&] { strings.get_or_load("k"); }), "no value for k"));
  EXPECT_TRUE(contains(failure_of([&] { strings.get_or_load("k"); }), "no value for k"));
  go.open();
  EXPECT_TRUE(eventually([&] { return bool(strings.get("k")); }));
  EXPECT_EQ(loads, 1);
  auto const is_loaded = [](auto const& one) { return one.has_value() && *one == "loaded"; };
  EXPECT_TRUE(eventually([&] {
    auto const many = strings.get_many_or_load({"k", "l"});
    return std::all_of(many.begin(), many.end(), is_loaded);
  })) << "a call may end before its load";
}

TEST(CacheLoaders, ACallThatNeedsWhatTheCacheHasNotSaysSoByName) {
  auto const store = open_store("memory:");
  cache<std::string> const without(store);
  auto const none = failure_of([&] { without.get_or_load("k"); });
  EXPECT_TRUE(contains(none, "cache(store, options, loader)")) << none;
  auto const load = [] { return std::string("loaded"); };
  cache<std::string> const soft(
      store, {.format = cache_format::framed, .freshness = {.grace = 1min, .soft_timeout = 10ms}});
  auto const why = failure_of([&] { soft.get_or_load("k", load); });
  EXPECT_TRUE(contains(why, "freshness.soft_timeout")) << why;
  cache<std::string> const scheduled(
      store, {.ttl = lasting, .format = cache_format::framed, .lasting = {.refresh_every = 1min}});
  auto const what = failure_of([&] { scheduled.get_or_load("k", load); });
  EXPECT_TRUE(contains(what, "lasting.refresh_every")) << what;
}

// ------------------------------------------------------------------------------------- harm

// B31
TEST(CacheLoaders, ABlockingLoaderThatAsksForItsOwnKeyIsToldAtOnce) {
  cache<std::string> const strings(open_store("memory:"), {.wait = wait_forever});
  auto const why = failure_of([&] {
    strings.get_or_load("k", [&] { return strings.get_or_load("k", [] { return "never"; }); });
  });
  EXPECT_TRUE(contains(why, "asks for this very key")) << why;
  using values = std::map<std::string, std::string>;
  auto const many = strings.get_many_or_load({"a"}, [&](std::vector<std::string> const&) {
    return values{{"a", *strings.get_or_load("a", [] { return "never"; })}};
  });
  ASSERT_TRUE(many.at(0).has_error());
  EXPECT_TRUE(contains(many.at(0).error().message, "asks for this very key"));
  strings.get_or_load("n", [&] {
    auto const both = strings.get_many_or_load({"n", "o"}, [&](std::vector<std::string> const&) {
      return values{{"o", "of o"}};
    });
    EXPECT_TRUE(both.at(0).has_error() && both.at(0).error() == errc::load_failed);
    EXPECT_EQ(both.at(1).value(), "of o");
    return "n";
  });
  EXPECT_EQ(strings.get_or_load("l", [&] { return strings.get_or_load("m", [] { return "m"; }); }),
            "m")
      << "another key is none of it";
}

// A loader that ends its thread ends that of its caller, and nothing else.
TEST(CacheLoaders, ALoaderThatEndsItsThreadIsItsOwnCallsTrouble) {
  cache<std::string> const strings(open_store("memory:"));
  gate loading;
  std::thread leaving([&] {
    strings.get_or_load("k", [&]() -> text {
      loading.open();
      EXPECT_TRUE(eventually([&] { return strings.stats().joined > 0; }));
      pthread_exit(nullptr);
    });
  });
  ASSERT_TRUE(loading.wait());
  EXPECT_EQ(strings.get_or_load("k", [] { return std::string("mine"); }), "mine");
  leaving.join();
}

TEST(CacheLoaders, AnOwnedLoaderThatEndsItsThreadIsAnErrorAndTheNextLoads) {
  std::atomic<int> loads = 0;
  cache<std::string> const strings(
      open_store("memory:"), {.error_back_off = 0ms, .bounds = {.max_loads = 1}}, [&]() -> text {
        if (++loads < 4) pthread_exit(nullptr);
        return "loaded";
      });
  for (int i = 1; i < 4; ++i) {
    auto const why = failure_of([&] { strings.get_or_load("k"); });
    EXPECT_TRUE(contains(why, "ended its thread")) << why;
  }
  EXPECT_EQ(strings.get_or_load("k"), "loaded");
}

// Far more keys than there are slots.
TEST(CacheLoaders, ACallForVeryManyKeysLoadsEachOnce) {
  cache<std::string> const strings(open_store("memory:"), {.wait = wait_forever});
  std::vector<std::string> keys;
  for (int i = 0; i < 20'000; ++i) keys.push_back(std::to_string(i));
  std::size_t runs = 0, loaded = 0;
  auto const got = strings.get_many_or_load(keys, [&](std::vector<std::string> const& wanted) {
    ++runs;
    loaded += wanted.size();
    std::map<std::string, std::string> values;
    for (auto const& key : wanted) values[key] = key;
    return values;
  });
  EXPECT_EQ(loaded, keys.size());
  EXPECT_LE(runs, 2 * keys.size() / cache_options().bounds.max_loads);
  for (auto const& one : {got.front(), got[10'000], got.back()}) EXPECT_TRUE(one.value());
}

using texts_by_key = std::map<std::string, std::string>;

TEST(CacheLoaders, AnOwnedLoaderForManyServesCallsForManyAndForOne) {
  std::atomic<int> runs = 0, keys = 0;
  auto const own = [&](std::vector<std::string> const& wanted) {
    ++runs;
    keys += static_cast<int>(wanted.size());
    texts_by_key values;
    for (auto const& key : wanted) values[key] = "own " + key;
    return values;
  };
  cache<std::string> const strings(open_store("memory:"), {}, own);
  EXPECT_EQ(strings.get_or_load("one"), "own one");
  auto const got = strings.get_many_or_load({"one", "a", "b", "c"});
  EXPECT_EQ(got[3].value(), "own c");
  EXPECT_EQ(keys, 4) << "each once";
  EXPECT_GE(runs, 2);
  EXPECT_EQ(strings.get_or_load("mine", [] { return std::string("of the call"); }), "of the call");
}

TEST(CacheLoaders, AnOwnedLoaderForManyMayBeACoroutine) {
  asio::thread_pool pool(1);
  auto const own = [](std::vector<std::string> const& wanted) -> asio::awaitable<texts_by_key> {
    texts_by_key values;
    for (auto const& key : wanted) values[key] = "own " + key;
    co_return values;
  };
  cache<std::string> const strings(open_store("memory:"), {},
                                   owned_loader(pool.get_executor(), own));
  EXPECT_EQ(strings.get_or_load("one"), "own one");
  EXPECT_EQ(strings.get_many_or_load({"a", "b"})[1].value(), "own b");
  pool.join();
}

TEST(CacheLoaders, WhatAnOwnedLoaderForManyThrowsIsTheErrorOfItsKeys) {
  auto const own = [](std::vector<std::string> const&) -> texts_by_key {
    throw std::runtime_error("no such table");
  };
  cache<std::string> const strings(open_store("memory:"), {}, own);
  EXPECT_TRUE(contains(failure_of([&] { strings.get_or_load("k"); }), "no such table"));
  EXPECT_TRUE(contains(strings.get_many_or_load({"a"})[0].error().message, "no such table"));
}

// A run that has begun goes on for its other keys, and is stored.
TEST(CacheLoaders, AnOwnedLoaderForManyOutlivesItsCalls) {
  auto const store = open_store("memory:");
  gate until;
  auto const own = [&](std::vector<std::string> const& wanted) {
    EXPECT_TRUE(until.wait());
    texts_by_key values;
    for (auto const& key : wanted) values[key] = "own";
    return values;
  };
  cache<std::string> const strings(store, {.wait = 10ms}, own);
  auto const got = strings.get_many_or_load({"a", "b"});
  EXPECT_TRUE(got[0].has_error() && got[0].error() == errc::timed_out);
  until.open();
  cache<std::string> const reader(store);
  EXPECT_TRUE(eventually([&] { return reader.get("a") && reader.get("b"); }));
}

}  // namespace
}  // namespace herdlock
