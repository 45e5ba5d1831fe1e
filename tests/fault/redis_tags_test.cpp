// Entries with tags over real servers: what a process keeps of them, and what a server that loses,
// refuses or evicts does to their tags. R1 to R22 are the rules of docs/known-bugs.md.
#include <atomic>
#include <thread>

#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/relayed_cache.hpp"

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using maybe_text = std::optional<std::string>;

constexpr auto record = "p:herdlock:tag:t";

/// What is known of a tag would do for an hour: who sees its end has been told, or asks.
cache_options tagged(near_cache how) {
  cache_options options{.prefix = "p:", .ttl = 10min, .ttl_jitter = 0};
  options.format = cache_format::framed;
  options.freshness.grace = 10min;
  options.near.mode = how;
  options.hot.keys = std::nullopt;
  options.tags.of = [](std::string_view) { return std::vector<std::string>{"t"}; };
  options.tags.max_age = 1h;
  return options;
}

struct redis_tags : testing::Test {
  redis_tags() { server.flush(); }

  static auto loader(maybe_text value) {
    return [value = std::move(value)](load_context const&) { return value; };
  }
  relayed_cache open(near_cache how) const {
    return relayed_cache(open_store(server.url()), tagged(how));
  }
  /// Each read of an entry asks for its tags.
  relayed_cache open_asking() const {
    auto options = tagged(near_cache::off);
    options.tags.max_age = 0ms;
    return relayed_cache(open_store(server.url()), options);
  }
  static void read_until_kept(relayed_cache const& one, std::string_view key) {
    ASSERT_TRUE(eventually([&] {
      auto const before = one.stats().near_hits;
      one.get_or_load(key, loader("loaded"));
      return one.stats().near_hits > before;
    }));
  }
  template <class Call>
  static failure failure_of(Call call) {
    try {
      call();
    } catch (error const& e) {
      return {e.code(), e.what()};
    }
    return {};
  }

  redis_server& server = redis_server::shared();
};

TEST_F(redis_tags, AKeptEntryWithTagsIsAnsweredWithoutTheServer) {
  auto const one = open(near_cache::all);
  one.put("k", "there");
  read_until_kept(one, "k");
  auto const calls = server.calls("get");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(one.get_or_load("k", loader("never")), "there");
  EXPECT_EQ(server.calls("get"), calls);
}

// It is kept beside the entries, and its value is none of theirs.
TEST_F(redis_tags, AKeptRecordIsNoAnswerToWhoAsksForItsName) {
  auto const one = open(near_cache::all);
  constexpr auto name = "herdlock:tag:t";
  one.put("k", "there");
  read_until_kept(one, "k");
  auto const hits = one.stats().near_hits;
  EXPECT_TRUE(failure_of([&] { one.get_or_load_shared(name, loader("no")); }) ==
              errc::invalid_name);
  EXPECT_TRUE(failure_of([&] { one.get_shared(name); }) == errc::invalid_name);
  EXPECT_TRUE(failure_of([&] { one.get_or_load(name, loader("no")); }) == errc::invalid_name);
  EXPECT_TRUE(failure_of([&] { one.get(name); }) == errc::invalid_name);
  EXPECT_EQ(one.stats().near_hits, hits);
}

// R9, R22
TEST_F(redis_tags, WhatAnotherProcessEndsIsSeenBehindAFence) {
  auto const one = open(near_cache::all), other = open(near_cache::off);
  constexpr int rounds = 100;
  for (int i = 0; i < rounds; ++i) {
    auto const value = std::to_string(i);
    EXPECT_EQ(one.get_or_load("k", loader(value)), value);
    EXPECT_EQ(one.get_or_load("l", loader(value)), value);
    read_until_kept(one, "k");
    read_until_kept(one, "l");
    other.invalidate_tag("t");
    one.fence();
    EXPECT_TRUE(one.get("k").is_miss());
    EXPECT_TRUE(one.get("l").is_miss());
  }
  EXPECT_GE(one.stats().near_ended_by_tags, static_cast<unsigned>(rounds));
}

TEST_F(redis_tags, WhatAnotherProcessExpiresIsStaleBehindAFence) {
  auto const one = open(near_cache::all), other = open(near_cache::off);
  EXPECT_EQ(one.get_or_load("k", loader("old")), "old");
  read_until_kept(one, "k");
  other.expire_tag("t");
  one.fence();
  EXPECT_TRUE(one.get("k").is_miss()) << "it is stale";
  EXPECT_EQ(one.get_or_load("k", loader("new")), "old") << "and serves while it is loaded anew";
  EXPECT_TRUE(eventually([&] { return one.get_or_load("k", loader("new")) == "new"; }));
  EXPECT_EQ(one.get_or_load("k", loader("never")), "new");
}

// R1, R9, R22: the loader reads a database that changes before its tag is ended.
TEST_F(redis_tags, ReadersWhoRaceTheEndsOfATagSeeNothingOlderThanTheirFence) {
  auto const one = open(near_cache::all), other = open(near_cache::off);
  std::atomic<long> database{0}, acknowledged{0};
  std::atomic<bool> over{false};
  auto const load = [&](load_context const&) { return maybe_text(std::to_string(database)); };
  std::thread writer([&] {
    while (!over) {
      long const next = ++database;
      other.invalidate_tag("t");
      acknowledged = next;
    }
  });
  for (int i = 0; i < 1000; ++i) {
    auto const key = "k" + std::to_string(i % 3);
    for (int again = 0; again < 3; ++again) one.get_or_load(key, load);
    long const before = acknowledged;
    one.fence();
    EXPECT_GE(std::stol(*one.get_or_load(key, load)), before) << i;
  }
  over = true;
  writer.join();
  EXPECT_GT(one.stats().near_hits, 0u) << "else this shows nothing";
}

// R2
TEST_F(redis_tags, AFlushTakesRecordsAndEntries) {
  auto const one = open(near_cache::all), asking = open_asking();
  for (int i = 0; i < 20; ++i) {
    auto const value = std::to_string(i);
    EXPECT_EQ(one.get_or_load("k", loader(value)), value);
    read_until_kept(one, "k");
    auto const entry = server.command({"GET", "p:k"});
    ASSERT_EQ(server.cli(i % 2 == 0 ? "FLUSHALL" : "FLUSHDB"), "OK");
    // Its record is not there any more.
    ASSERT_EQ(server.command({"SET", "p:k", entry, "PX", "600000"}), "OK");
    one.fence();
    EXPECT_TRUE(one.get("k").is_miss());
    EXPECT_TRUE(asking.get("k").is_miss());
  }
}

// R22: the entry comes back, from a backup or a replica that was late, and its server counts anew.
TEST_F(redis_tags, ARestartedNumberingBringsNoEntryBack) {
  auto const asking = open_asking();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(asking.get_or_load("k", loader("old")), "old");
    auto const entry = server.command({"GET", "p:k"});
    auto const number = server.command({"GET", "{p:herdlock:tag:t}:herdlock:claim-fence"});
    server.flush();
    auto const counted = std::to_string(std::stoull(number) - 1);
    server.command({"SET", "{p:herdlock:tag:t}:herdlock:claim-fence", counted});
    EXPECT_EQ(asking.get_or_load("l", loader("other")), "other");
    server.command({"SET", "p:k", entry, "PX", "600000"});
    EXPECT_TRUE(asking.get("k").is_miss());
    EXPECT_EQ(asking.get_or_load("k", loader("new")), "new");
    server.flush();
  }
}

// R2, R4
TEST_F(redis_tags, AConnectionThatIsKilledTakesItsRecordsWithIt) {
  auto const one = open(near_cache::all), other = open(near_cache::off);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(one.get_or_load("k", loader("old")), "old");
    read_until_kept(one, "k");
    server.cli("CLIENT KILL TYPE normal");
    ASSERT_TRUE(eventually([&] { return !failure_of([&] { other.invalidate_tag("t"); }).code; }));
    ASSERT_TRUE(eventually([&] { return !failure_of([&] { one.fence(); }).code; }));
    bool missed = false;
    ASSERT_TRUE(
        eventually([&] { return !failure_of([&] { missed = one.get("k").is_miss(); }).code; }));
    EXPECT_TRUE(missed) << i;
  }
}

// S9. A full server refuses a new record, and takes the end of one.
TEST_F(redis_tags, AFullServerStillEndsTagsAndNobodyGetsAnError) {
  redis_server full;
  auto options = tagged(near_cache::all);
  options.error_back_off = 0ms;
  relayed_cache const one(open_store(full.url()), options), other(open_store(full.url()), options);
  EXPECT_EQ(one.get_or_load("k", loader("old")), "old");
  read_until_kept(one, "k");
  ASSERT_EQ(full.cli("CONFIG SET maxmemory 1"), "OK");
  EXPECT_EQ(one.get_or_load("k", loader("never")), "old");
  EXPECT_EQ(other.get_or_load("k", loader("never")), "old") << "the record is read all the same";
  other.expire_tag("t");
  one.fence();
  EXPECT_TRUE(one.get("k").is_miss()) << "it is stale";
  EXPECT_EQ(one.get_or_load("k", loader("never")), "old") << "and cannot be loaded anew";
  other.invalidate_tag("t");
  one.fence();
  EXPECT_TRUE(one.get("k").is_miss());
  EXPECT_EQ(one.get_or_load("k", loader("new")), "new") << "it is loaded, and not stored";
  EXPECT_EQ(other.get_or_load("k", loader("newer")), "newer");
  ASSERT_EQ(full.cli("CONFIG SET maxmemory 0"), "OK");
  EXPECT_TRUE(eventually([&] {
    auto const loaded = one.get_or_load("k", loader("by one"));
    return other.get_or_load("k", loader("by the other")) == loaded;
  })) << "what one loads is stored again";
}

TEST_F(redis_tags, WhatIsNoRecordUnderItsNameIsSaidAndNothingIsStored) {
  auto const one = open(near_cache::all), asking = open_asking();
  EXPECT_EQ(one.get_or_load("k", loader("old")), "old");
  read_until_kept(one, "k");
  server.command({"DEL", record});
  server.command({"RPUSH", record, "what?"});
  one.fence();
  EXPECT_TRUE(one.get("k").is_miss());
  EXPECT_EQ(one.get_or_load("k", loader("loaded")), "loaded");
  EXPECT_EQ(asking.get_or_load("l", loader("loaded")), "loaded");
  EXPECT_EQ(server.command({"EXISTS", "p:l"}), "0");
  EXPECT_EQ(asking.stats().unguarded_loads, 0u) << "the store works";
  auto const why = failure_of([&] { asking.invalidate_tag("t"); });
  EXPECT_NE(why.message.find(record), std::string::npos) << why.message;
  server.command({"DEL", record});
  one.fence();
  EXPECT_TRUE(eventually([&] {
    one.get_or_load("k", loader("stored"));
    return server.command({"EXISTS", record}) == "1" && !asking.get("k").is_miss();
  }));
}

// A user who may read and write the entries, and not the records.
TEST_F(redis_tags, WithoutTheRightToReadATagNothingIsKeptOrStored) {
  redis_server refusing({.users = {"alice on >sesame ~p:k* ~{p:k* ~p:l* ~{p:l* &* +@all",
                                   "bob on >sesame ~* &* +@all"}});
  auto const at = "@127.0.0.1:" + std::to_string(refusing.port());
  relayed_cache const alice(open_store("redis://alice:sesame" + at), tagged(near_cache::all));
  relayed_cache const bob(open_store("redis://bob:sesame" + at), tagged(near_cache::off));
  EXPECT_EQ(bob.get_or_load("k", loader("bob's")), "bob's");
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(alice.get_or_load("k", loader("loaded")), "loaded")
        << "nobody tells what it is worth";
    EXPECT_EQ(alice.get_or_load("l", loader("loaded")), "loaded");
    alice.fence();
  }
  EXPECT_EQ(alice.stats().near_inserts, 0u);
  EXPECT_EQ(alice.stats().unguarded_loads, 0u);
  EXPECT_EQ(refusing.command({"EXISTS", "p:l"}), "0");
  EXPECT_EQ(bob.get_or_load("k", loader("never")), "bob's");
  auto const why = failure_of([&] { alice.invalidate_tag("t"); });
  EXPECT_TRUE(why == errc::access_denied) << why.message;
  EXPECT_EQ(why.message.find("sesame"), std::string::npos) << why.message;
}

// As one that an evicting server takes (R22).
TEST_F(redis_tags, ARecordThatIsDeletedEndsWhatIsKept) {
  auto const one = open(near_cache::all);
  EXPECT_EQ(one.get_or_load("k", loader("old")), "old");
  read_until_kept(one, "k");
  server.command({"DEL", record});
  one.fence();
  EXPECT_EQ(one.get_or_load("k", loader("new")), "new");
}

}  // namespace
}  // namespace herdlock_test
