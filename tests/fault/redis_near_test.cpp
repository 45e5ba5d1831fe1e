// The near cache over real servers: what a process keeps, and that it never serves for too long
// what somebody else has changed.
#include <atomic>
#include <thread>

#include <herdlock/cache.hpp>
#include <herdlock/metrics.hpp>
#include <herdlock/open.hpp>
#include "near_reading.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/relay.hpp"
#include "support/relayed_cache.hpp"
#include "support/temp_dir.hpp"

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using maybe_text = std::optional<std::string>;
using texts = cache<std::string>;

cache_options near_by(near_cache how) { return {.prefix = no_prefix, .ttl = 10min, .near = {how}}; }

struct redis_near : testing::Test {
  redis_near() { server.flush(); }

  static auto loader(maybe_text value) {
    return [value](load_context const&) { return value; };
  }
  texts open(near_cache how) const { return texts(open_store(server.url()), near_by(how)); }
  texts pinned(std::string_view key) const {
    auto one = open(near_cache::hot);
    one.pin(key);
    return one;
  }
  void set(std::string const& key, std::string const& value) const {
    ASSERT_EQ(server.command({"SET", key, value}), "OK");
  }
  long tracked_keys() const {
    auto const info = server.cli("INFO stats");
    std::string const name = "tracking_total_keys:";
    return std::stol(info.substr(info.find(name) + name.size()));
  }
  std::string url_of(std::string const& user) const {
    return "redis://" + user + ":sesame@127.0.0.1:" + std::to_string(server.port());
  }

  redis_server& server = redis_server::shared();
};

TEST_F(redis_near, AKeptValueIsAnsweredWithoutTheServerAndWithoutACopy) {
  auto const one = pinned("k");
  set("k", "there");
  read_until_kept(one, "k");
  auto const calls = server.calls("get");
  auto const first = one.get_or_load_shared("k", loader("never"));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.get_or_load_shared("k", loader("never")), first);
  EXPECT_EQ(*first, "there");
  EXPECT_EQ(**one.get_shared("k"), "there");
  EXPECT_EQ(*one.get("k"), "there");
  EXPECT_EQ(one.get_or_load("k", loader("never")), "there") << "nobody has moved from it";
  EXPECT_EQ(server.calls("get"), calls);
}

TEST_F(redis_near, OnlyPinnedKeysAreTracked) {
  auto const one = pinned("k");
  for (int i = 0; i < 100; ++i) one.get_or_load("other" + std::to_string(i), loader("x"));
  for (int i = 0; i < 100; ++i) one.get("other" + std::to_string(i));
  read_until_kept(one, "k");
  EXPECT_EQ(tracked_keys(), 1);
  EXPECT_EQ(one.stats().near_entries, 1u);
  one.unpin("k");
  EXPECT_EQ(one.stats().near_entries, 0u);
}

// R9: whatever was acknowledged before the fence.
TEST_F(redis_near, WhatOthersWriteIsSeenBehindAFence) {
  auto const one = pinned("k");
  constexpr int rounds = 200;
  for (int i = 0; i < rounds; ++i) {
    set("k", std::to_string(i));
    one.fence();
    EXPECT_EQ(*one.get("k"), std::to_string(i));
    EXPECT_EQ(*one.get("k"), std::to_string(i));
  }
  EXPECT_GE(one.stats().near_hits, rounds / 2u) << "else this shows nothing";
  EXPECT_GE(one.stats().near_invalidations, rounds / 2u);
}

// R1, R9: readers who race a writer.
TEST_F(redis_near, ReadersThatRaceAWriterSeeNothingOlderThanTheirFence) {
  auto const one = pinned("k");
  set("k", "0");
  std::atomic<long> acknowledged{0};
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (long i = 1; !over; ++i) {
      set("k", std::to_string(i));
      acknowledged = i;
    }
  });
  for (int i = 0; i < 2000; ++i) {
    one.get("k");
    long const before = acknowledged;
    one.fence();
    EXPECT_GE(std::stol(*one.get("k")), before);
  }
  over = true;
  writer.join();
}

// R8
TEST_F(redis_near, OwnWritesAreSeenAtOnce) {
  auto const one = pinned("k");
  for (int i = 0; i < 100; ++i) {
    one.put("k", std::to_string(i));
    EXPECT_EQ(*one.get("k"), std::to_string(i));
    EXPECT_EQ(*one.get("k"), std::to_string(i));
  }
  EXPECT_GE(one.stats().near_hits, 50u);
  EXPECT_TRUE(one.invalidate("k"));
  EXPECT_TRUE(one.get("k").is_miss());
  EXPECT_EQ(one.get_or_load("k", loader("loaded")), "loaded");
  EXPECT_EQ(one.get_or_load("k", loader("never")), "loaded");
}

TEST_F(redis_near, ThatThereIsNoSuchThingIsKeptToo) {
  auto const one = pinned("k");
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(one.get_or_load("k", loader(std::nullopt)), std::nullopt);
    return one.stats().near_hits > 0;
  }));
  EXPECT_TRUE(one.get_shared("k").is_negative());
  EXPECT_EQ(one.get_or_load_shared("k", loader("never")), nullptr);
  set("k", "there is one");
  one.fence();
  EXPECT_EQ(one.get_or_load("k", loader("never")), "there is one");
}

// R2: a push without keys.
TEST_F(redis_near, AFlushIsSeenBehindAFence) {
  auto const one = open(near_cache::all);
  for (int i = 0; i < 50; ++i) {
    set("k", "there");
    one.fence();
    read_until_kept(one, "k");
    ASSERT_EQ(server.cli(i % 2 == 0 ? "FLUSHALL" : "FLUSHDB"), "OK");
    one.fence();
    EXPECT_TRUE(one.get("k").is_miss());
  }
}

// R2, R4: what was read over the old connection is gone with it.
TEST_F(redis_near, AConnectionThatIsKilledTakesWithItWhatWasReadOverIt) {
  auto const one = pinned("k");
  for (int i = 0; i < 30; ++i) {
    set("k", std::to_string(i));
    one.fence();
    read_until_kept(one, "k");
    server.cli("CLIENT KILL TYPE normal");
    set("k", "changed");
    EXPECT_EQ(answer_behind_fence(one, "k"), "changed");
  }
}

// R6: the last word of a server that hangs is good for max_staleness since it was asked for.
TEST_F(redis_near, WhenTheConnectionHangsNothingIsServedForLong) {
  relay wire(server.port());
  auto options = near_by(near_cache::hot);
  options.near.max_staleness = 300ms;
  texts const one(open_store("redis://127.0.0.1:" + std::to_string(wire.port()) + "?timeout=2s"),
                  options);
  one.pin("k");
  set("k", "old");
  read_until_kept(one, "k");
  wire.stop_forwarding();
  auto const stopped = std::chrono::steady_clock::now();
  auto last_old = stopped;  // when it was asked for
  set("k", "new");
  EXPECT_TRUE(eventually([&] {
    auto const asked = std::chrono::steady_clock::now();
    try {
      if (*one.get("k") != "old") return true;
    } catch (error const&) {
      return true;  // it asks the store, which does not answer
    }
    last_old = asked;
    return false;
  }));
  EXPECT_LE(last_old - stopped, options.near.max_staleness);
  wire.resume_forwarding();
  EXPECT_EQ(first_answer(one, "k"), "new");
}

// R12
TEST_F(redis_near, AChangeThatChangesNothingIsCounted) {
  auto const one = open(near_cache::all);
  auto const change = [&](char const* to) {
    auto const before = one.stats().near_invalidations;
    set("k", to);
    one.fence();
    ASSERT_EQ(one.stats().near_invalidations, before + 1);
    read_until_kept(one, "k");
  };
  set("k", "there");
  read_until_kept(one, "k");
  change("there");
  EXPECT_EQ(one.stats().near_unchanged, 1u);
  change("other");
  EXPECT_EQ(one.stats().near_unchanged, 1u);
}

// A framed entry that is loaded anew has other times, and the value is the same.
TEST_F(redis_near, AFramedEntryIsComparedByItsValue) {
  auto framed = near_by(near_cache::all);
  framed.format = cache_format::framed;
  texts const one(open_store(server.url()), framed);
  one.put("k", "there");
  read_until_kept(one, "k");
  one.put("k", "there");
  read_until_kept(one, "k");
  EXPECT_EQ(one.stats().near_unchanged, 1u);
  one.put("k", "other");
  read_until_kept(one, "k");
  EXPECT_EQ(one.stats().near_unchanged, 1u);
}

TEST_F(redis_near, HowLongAgoTheConnectionWasProvedIsTold) {
  relay between(server.port());
  auto const through = "redis://127.0.0.1:" + std::to_string(between.port());
  auto const values = open_store(through);
  {
    texts const one(values, near_by(near_cache::all));
    set("k", "there");
    read_until_kept(one, "k");
    between.stop_forwarding();
    EXPECT_TRUE(eventually([&] { return one.stats().near_proof_age_ms > 1000; }));
    EXPECT_GT(values.metrics().caches.near_proof_age_ms, 1000u);
  }
  EXPECT_TRUE(eventually([&] { return values.metrics().caches.near_proof_age_ms == 0; }))
      << "the cache has gone";
}

void expect_that_nothing_is_kept(store const& opened, std::string const& why) {
  texts const one(opened, near_by(near_cache::all));
  one.put("k", "there");
  ASSERT_TRUE(eventually([&] { return !opened.warnings().empty(); }));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*one.get("k"), "there");
  EXPECT_EQ(one.stats().near_inserts, 0u);
  EXPECT_EQ(one.stats().near_links_refused, 1u);
  EXPECT_EQ(opened.metrics().caches.near_links_refused, 1u);
  auto const said = opened.warnings().back();
  for (auto const& part : {std::string("near cache of the cache without a prefix"), why,
                           std::string("near.untracked_age")}) {
    EXPECT_NE(said.find(part), said.npos) << said;
  }
}

TEST_F(redis_near, WhereTheServerDoesNotPushNothingIsKeptAndAWarningSaysSo) {
  redis_server refusing({.users = {"alice on >sesame ~* &* +@all -client|tracking"}});
  auto const url = "redis://alice:sesame@127.0.0.1:" + std::to_string(refusing.port());
  store const opened = open_store(url);
  expect_that_nothing_is_kept(opened, "client|tracking");
  auto aged = near_by(near_cache::all);
  aged.near.untracked_age = 10min;
  texts const other(opened, aged);
  read_until_kept(other, "k");

  redis_server const without({.arguments = {"--rename-command", "CLIENT", ""}});
  expect_that_nothing_is_kept(open_store(without.url()), "CLIENT");
}

// An ACL may permit tracking, and not to say which reads.
TEST_F(redis_near, AReadThatTheServerDoesNotTrackIsNotKept) {
  redis_server refusing({.users = {"alice on >sesame ~* &* +@all -client|caching"}});
  texts const one(open_store("redis://alice:sesame@127.0.0.1:" + std::to_string(refusing.port())),
                  near_by(near_cache::all));
  one.put("k", "there");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(*one.get("k"), "there");
  EXPECT_EQ(one.stats().near_inserts, 0u);
}

TEST_F(redis_near, AFramedEntryIsServedWhileItIsFreshAndRefreshedByOne) {
  auto framed = near_by(near_cache::all);
  framed.format = cache_format::framed;
  framed.freshness.grace = 10min;
  relayed_cache const one(open_store(server.url()), framed);
  texts const other(open_store(server.url()), framed);
  EXPECT_EQ(one.get_or_load("k", loader("old")), "old");
  read_until_kept(one, "k");
  EXPECT_TRUE(other.expire("k"));
  one.fence();
  EXPECT_TRUE(one.get("k").is_miss()) << "it is stale";
  EXPECT_EQ(one.get_or_load("k", loader("new")), "old") << "and serves while it is refreshed";
  EXPECT_TRUE(eventually([&] { return one.get_or_load("k", loader("new")) == "new"; }));
  EXPECT_EQ(one.get_or_load("k", loader("never")), "new");
}

TEST_F(redis_near, TheBoundsHoldHoweverManyKeysAreRead) {
  auto options = near_by(near_cache::all);
  options.near.entries = 100;
  texts const one(open_store(server.url()), options);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1000; ++i) one.get_or_load("k" + std::to_string(i), loader("x"));
  }
  auto const stats = one.stats();
  EXPECT_LE(stats.near_entries, 100u);
  EXPECT_GE(stats.near_evicted, 800u);
}

// R14: what is served here looks idle to the server, which evicts that first.
TEST_F(redis_near, AnEvictingServerKeepsWhatIsServedHere) {
  redis_server evicting({.arguments = {"--maxmemory", "4mb", "--maxmemory-policy", "allkeys-lru"}});
  int written = 0;
  auto const write = [&](int count) {
    for (int i = 0; i < count; ++i) {
      evicting.command({"SET", "cold" + std::to_string(++written), std::string(4000, 'x')});
    }
  };
  texts const one(open_store(evicting.url()), near_by(near_cache::hot));
  while (evicting.cli("INFO stats").find("evicted_keys:0") != std::string::npos) write(100);
  // The server counts in seconds: of one second it evicts any.
  auto const last = "cold" + std::to_string(written);
  ASSERT_TRUE(eventually([&] { return std::stoi(evicting.cli("OBJECT IDLETIME " + last)) >= 2; }));
  one.put("k", "there");
  one.put("twin", "there");
  one.pin("k");
  read_until_kept(one, "k");
  // So slowly that the second look at what it evicts comes in time.
  EXPECT_TRUE(eventually(60s, [&] {
    write(1);
    EXPECT_EQ(one.get_or_load("k", loader("loaded")), "there");
    return evicting.cli("EXISTS twin") == "0";
  }));
  EXPECT_EQ(evicting.cli("EXISTS k"), "1");
  EXPECT_GT(evicting.calls("touch"), 0);
  EXPECT_TRUE(eventually([&] {
    write(1);
    EXPECT_EQ(one.get_or_load("k", loader("loaded")), "there");
    return one.stats().near_server_evictions > 0;
  }));
}

TEST_F(redis_near, OnlyTheTimeLeftOfTheEntryIsKept) {
  auto const one = pinned("k");
  // Again and again, for a busy machine may let it end before it is kept.
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(server.command({"SET", "k", "short", "PX", "500"}), "OK");
    one.get("k");
    auto const hits = one.stats().near_hits;
    auto const calls = server.calls("get");
    one.get("k");
    return one.stats().near_hits == hits + 1 && server.calls("get") == calls;
  }));
  EXPECT_TRUE(eventually([&] { return one.get("k").is_miss(); }));
}

TEST_F(redis_near, AStoreThatPushesNothingIsRefusedByName) {
  temp_dir const folder;
  auto const file = open_store("sqlite:" + (folder.path() / "cache.db").string());
  auto const refused = [](auto make, std::string const& part) {
    try {
      make();
      ADD_FAILURE() << "taken";
    } catch (error const& e) {
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
  };
  refused([&] { texts(file, near_by(near_cache::hot)); }, "sqlite:");
  refused([&] { texts(open_store(server.url()), file, near_by(near_cache::hot)); },
          "near.mode: needs values and claims in one store");
  refused([&] { texts(file, {.near = {.max_age = 1min}}); }, "near.max_age: needs near.mode");
  texts const in_memory(open_store("memory:"), near_by(near_cache::all));
  EXPECT_EQ(in_memory.get_or_load("k", loader("x")), "x");
}

TEST_F(redis_near, MoreKeysThanThereIsRoomForAreNotPinned) {
  auto options = near_by(near_cache::hot);
  options.near.entries = 2;
  texts const one(open_store(server.url()), options);
  one.pin("a");
  one.pin("b");
  one.pin("b");
  try {
    one.pin("c");
    ADD_FAILURE() << "pinned";
  } catch (error const& e) {
    EXPECT_EQ(e.code(), make_error_code(errc::overloaded));
  }
  one.unpin("a");
  one.pin("c");
  EXPECT_THROW(one.pin(""), error);
}

}  // namespace
}  // namespace herdlock_test
