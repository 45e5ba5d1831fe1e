// The near cache over groups of servers: slots that move, masters that change.
#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include "near_reading.hpp"
#include "support/eventually.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_sentinels.hpp"

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using maybe_text = std::optional<std::string>;
using texts = cache<std::string>;

texts open_at(std::string const& url, near_cache how) {
  return texts(open_store(url),
               {.prefix = no_prefix, .ttl = 10min, .ttl_jitter = 0, .near = {.mode = how}});
}

texts open_tagged(std::string const& url, near_cache how) {
  cache_options options{
      .prefix = no_prefix, .ttl = 10min, .ttl_jitter = 0, .format = cache_format::framed};
  options.tags.of = [](std::string_view) { return std::vector<std::string>{"t"}; };
  options.tags.max_age = 1h;
  options.near.mode = how;
  return texts(open_store(url), options);
}

// What is not in the store is not made.
void look_until_kept(texts const& one, std::string const& key) {
  read_until_kept(one, key, [] { return maybe_text(); });
}

// R11: nobody pushes that the slot of a missing key has moved.
TEST(RedisClusterNear, WhatMovesIsSeenBehindAFence) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const url = cluster.url() + "?timeout=20s";
  auto const reader = open_at(url, near_cache::all), writer = open_at(url, near_cache::off);
  auto const there = cluster.name_at(0, "there");
  auto const slot = cluster.slot_of(there);
  auto const missing = "{" + there + "}missing";
  for (int move = 0; move < 6; ++move) {
    writer.put(there, "old");
    writer.invalidate(missing);
    reader.fence();
    look_until_kept(reader, there);
    look_until_kept(reader, missing);
    cluster.move_slot(slot, (cluster.home_of(there) + 1) % 3, [&] { reader.get(there); });
    writer.put(there, "new");
    writer.put(missing, "there is one");
    reader.fence();
    EXPECT_EQ(*reader.get(there), "new");
    EXPECT_EQ(reader.get_or_load(missing, [](load_context const&) { return maybe_text(); }),
              "there is one");
  }
}

// Each node has a connection that pushes, and a fence asks all of them.
TEST(RedisClusterNear, KeysOfAllNodesAreKeptAndSeen) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const url = cluster.url() + "?timeout=20s";
  auto const reader = open_at(url, near_cache::all), writer = open_at(url, near_cache::off);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      auto const key = cluster.name_at(i);
      writer.put(key, std::to_string(round));
      reader.fence();
      EXPECT_EQ(*reader.get(key), std::to_string(round));
      EXPECT_EQ(*reader.get(key), std::to_string(round));
    }
  }
  EXPECT_GE(reader.stats().near_hits, 30u) << "else this shows nothing";
}

TEST(RedisSentinelNear, AfterAFailoverNothingOfTheOldMasterIsServed) {
  redis_sentinels group({.down_after = never_down});
  auto const url = group.url() + "?timeout=20s";
  auto const reader = open_at(url, near_cache::all), writer = open_at(url, near_cache::off);
  for (int round = 0; round < 3; ++round) {
    writer.put("k", "old");
    reader.fence();
    look_until_kept(reader, "k");
    group.failover();
    ASSERT_TRUE(eventually([&] {
      try {
        writer.put("k", "new");
        return group.master().cli("GET k") == "new";
      } catch (error const&) {
        return false;  // it still asks the old one
      }
    }));
    // Until it has heard of the failover it believes the old master.
    ASSERT_TRUE(eventually([&] { return has_tracking_client(group.master()); }));
    EXPECT_EQ(answer_behind_fence(reader, "k"), "new");
  }
}

// Its record is at one node, and the entries are at all of them.
TEST(RedisClusterNear, ATagEndsTheKeptEntriesOfAllNodes) {
  auto& cluster = redis_cluster::shared();
  cluster.flush();
  auto const url = cluster.url() + "?timeout=20s";
  auto const reader = open_tagged(url, near_cache::all), writer = open_tagged(url, near_cache::off);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < 3; ++i) {
      writer.put(cluster.name_at(i), std::to_string(round));
      look_until_kept(reader, cluster.name_at(i));
      EXPECT_EQ(*reader.get(cluster.name_at(i)), std::to_string(round));
    }
    writer.invalidate_tag("t");
    reader.fence();
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(reader.get(cluster.name_at(i)).is_miss());
  }
}

TEST(RedisSentinelNear, AfterAFailoverATagEndsWhatIsKept) {
  redis_sentinels group({.down_after = never_down});
  auto const url = group.url() + "?timeout=20s";
  auto const reader = open_tagged(url, near_cache::all), writer = open_tagged(url, near_cache::off);
  for (int round = 0; round < 2; ++round) {
    writer.put("k", "old");
    reader.fence();
    look_until_kept(reader, "k");
    group.await_replicas(2);
    group.failover();
    ASSERT_TRUE(eventually([&] {
      try {
        writer.invalidate_tag("t");
        return group.master().cli("EXISTS herdlock:tag:t") == "0";
      } catch (error const&) {
        return false;  // it still asks the old one
      }
    }));
    ASSERT_TRUE(eventually([&] { return has_tracking_client(group.master()); }));
    EXPECT_EQ(answer_behind_fence(reader, "k"), "(miss)");
  }
}

}  // namespace
}  // namespace herdlock_test
