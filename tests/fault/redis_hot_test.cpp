// Hot keys of a cache over real servers: found by its own counts, kept in the process, refreshed
// before they end, and let go when nobody reads them any more.
#include <atomic>
#include <thread>

#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include "support/eventually.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using texts = cache<std::string>;

struct redis_hot : testing::Test {
  redis_hot() { server.flush(); }

  static hot_keys_options soon() { return {.threshold = 50, .window = 400ms, .min_reads = 10}; }
  static cache_options options(milliseconds ttl = 10min) {
    return {.prefix = no_prefix,
            .ttl = ttl,
            .ttl_jitter = 0,
            .hot = {.keys = soon(), .fleet_threshold = 0}};
  }
  texts open(cache_options const& how) const { return texts(open_store(server.url()), how); }
  std::string read(texts const& one, std::string_view key) {
    return *one.get_or_load_shared(key, [this] {
      ++loads;
      return std::string("loaded");
    });
  }
  void read_until_kept(texts const& one, std::string_view key) {
    ASSERT_TRUE(eventually([&] {
      read(one, key);
      return one.stats().near_hits > 100;
    }));
  }

  redis_server& server = redis_server::shared();
  std::atomic<int> loads{0};
};

TEST_F(redis_hot, AKeyThatIsReadOftenIsAnsweredWithoutTheServer) {
  auto const one = open(options());
  read_until_kept(one, "k");
  auto const calls = server.calls("get");
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(read(one, "k"), "loaded");
  EXPECT_LE(server.calls("get"), calls + 2);
  EXPECT_EQ(loads, 1);
  ASSERT_FALSE(one.most_read(1).empty());
  EXPECT_TRUE(one.most_read(1).front().hot);
}

// Only the first kept_bytes of a key are counted by name.
TEST_F(redis_hot, KeysOfAnyBytesAndOfTheLongestKindBecomeHot) {
  std::string const longest = std::string(255, '\xff') + std::string(257, '\x01');
  for (std::string const& key : {std::string("\r\n$-1\x01"), longest}) {
    auto const one = open(options());
    read_until_kept(one, key);
    EXPECT_GE(one.hot_stats().became_hot, 1u);
    ASSERT_EQ(server.command({"SET", key, "new"}), "OK");
    one.fence();
    EXPECT_EQ(read(one, key), "new");
  }
}

TEST_F(redis_hot, WithoutAHotKeyTheServerIsAskedForNothing) {
  auto const before = server.calls("client|tracking");
  auto const one = open({.prefix = no_prefix, .hot = {.keys = hot_keys_options{.threshold = 1e9}}});
  for (int i = 0; i < 200; ++i) read(one, "k");
  EXPECT_EQ(one.stats().near_hits, 0u);
  EXPECT_EQ(server.calls("client|tracking"), before);
}

TEST_F(redis_hot, OffIsOff) {
  auto how = options();
  how.near.mode = near_cache::off;
  auto const one = open(how);
  ASSERT_TRUE(eventually([&] {
    read(one, "k");
    return one.hot_stats().hot == 1;
  }));
  for (int i = 0; i < 200; ++i) read(one, "k");
  EXPECT_EQ(one.stats().near_hits, 0u);
}

TEST_F(redis_hot, AChangeOfAHotKeyIsSeenBehindAFence) {
  auto const one = open(options());
  read_until_kept(one, "k");
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(server.command({"SET", "k", std::to_string(i)}), "OK");
    one.fence();
    EXPECT_EQ(read(one, "k"), std::to_string(i));
  }
}

// Two processes, as far as the server can see. Both want to load it anew: the load does not end
// before the other one was refused.
TEST_F(redis_hot, TheEntryOfAHotKeyDoesNotEnd) {
  auto const one = open(options(40s));
  auto const two = open(options(40s));
  read_until_kept(one, "k");
  read_until_kept(two, "k");
  auto const refused = [&] {
    return one.stats().refused_refreshes + two.stats().refused_refreshes;
  };
  std::atomic<std::uint64_t> refused_before{0};
  auto const load = [&] {
    ++loads;
    EXPECT_TRUE(eventually([&] { return refused() > refused_before; }));
    return std::string("loaded");
  };
  auto const misses = one.stats().misses + two.stats().misses;
  std::jthread const other([&](std::stop_token const& stop) {
    while (!stop.stop_requested()) EXPECT_EQ(*two.get_or_load_shared("k", load), "loaded");
  });
  for (int round = 1; round <= 10; ++round) {
    int const before = loads;
    refused_before = refused();
    // Within the tenth of its ttl in which it is loaded anew.
    ASSERT_EQ(server.command({"PEXPIRE", "k", "3900"}), "1");
    EXPECT_TRUE(eventually([&] {
      for (int i = 0; i < 20; ++i) EXPECT_EQ(*one.get_or_load_shared("k", load), "loaded");
      return std::stol(server.command({"PTTL", "k"})) > 30'000;
    }));
    EXPECT_EQ(loads - before, 1) << "one process loads it anew, and the other does not";
  }
  EXPECT_EQ(one.stats().misses + two.stats().misses, misses) << "it was always there";
}

TEST_F(redis_hot, WithALoaderOfTheCachesOwnNobodyWaitsForTheLoadThatRefreshesIt) {
  auto how = options(1s);
  how.format = cache_format::framed;
  how.freshness.grace = 10min;
  how.wait = wait_forever;
  auto const ended = std::make_shared<std::atomic<bool>>(false);
  auto const runs = std::make_shared<std::atomic<int>>(0);
  auto held = [ended, runs] {
    if (++*runs > 1) ended->wait(false);
    return std::string("loaded");
  };
  cache<std::string> const one(open_store(server.url()), how, held);
  EXPECT_TRUE(eventually([&] {
    one.get_or_load("k");
    return *runs > 1;
  }));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.get_or_load("k"), "loaded");
  *ended = true;
  ended->notify_all();
}

TEST_F(redis_hot, AKeyThatNobodyReadsAnyMoreIsLetGo) {
  auto const one = open(options());
  read_until_kept(one, "k");
  EXPECT_EQ(one.stats().near_entries, 1u);
  EXPECT_TRUE(eventually([&] { return one.stats().near_entries == 0; }));
  EXPECT_EQ(one.hot_stats().hot, 0u);
  EXPECT_EQ(one.hot_stats().cooled, 1u);
}

TEST_F(redis_hot, WhatIsPinnedStaysWhenItHasCooled) {
  auto const one = open(options());
  one.pin("k");
  read_until_kept(one, "k");
  ASSERT_TRUE(eventually([&] {
    read(one, "k");
    return one.hot_stats().hot == 1;
  }));
  ASSERT_TRUE(eventually([&] { return one.hot_stats().cooled == 1; }));
  EXPECT_EQ(one.stats().near_entries, 1u);
}

// H2: each process would have a copy.
TEST_F(redis_hot, AHotValueThatIsTooLargeIsNotKept) {
  auto how = options();
  how.near.max_value_bytes = 1000;
  auto const one = open(how);
  one.put("large", std::string(1001, 'x'));
  one.put("small", std::string(1000, 'x'));
  one.pin("small");
  read_until_kept(one, "small");
  auto const hits = one.stats().near_hits;
  auto const others = one.hot_stats().became_hot;
  EXPECT_TRUE(eventually([&] {
    read(one, "large");
    return one.hot_stats().became_hot > others;
  }));
  for (int i = 0; i < 300; ++i) EXPECT_EQ(read(one, "large").size(), 1001u);
  EXPECT_EQ(one.stats().near_hits, hits);
  EXPECT_EQ(one.stats().near_entries, 1u);
  EXPECT_EQ(loads, 0);
}

// H5: each change is a message to every process that keeps the key.
TEST_F(redis_hot, AKeyThatOthersWriteOftenIsNotKept) {
  auto const one = open(options());
  read_until_kept(one, "k");
  int round = 0;
  EXPECT_TRUE(eventually([&] {
    server.command({"SET", "k", std::to_string(++round)});
    read(one, "k");
    return one.hot_stats().cooled == 1;
  }));
}

// Its writes are seen where it is kept, and nowhere else.
TEST_F(redis_hot, AKeyThatOthersWriteOftenDoesNotComeAndGo) {
  auto const one = open(options());
  read_until_kept(one, "k");
  int round = 0;
  auto const begun = clock::now();
  ASSERT_TRUE(eventually([&] {
    server.command({"SET", "k", std::to_string(++round)});
    for (int i = 0; i < 4; ++i) read(one, "k");
    return clock::now() - begun > 20 * soon().window;
  }));
  EXPECT_GE(one.hot_stats().cooled, 1u);
  EXPECT_LE(one.hot_stats().became_hot, 5u) << "and not each three windows";
}

}  // namespace
}  // namespace herdlock_test
