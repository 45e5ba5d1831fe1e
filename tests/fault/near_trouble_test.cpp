// The near cache where its server forgets, restarts or closes, where its link is slow, and where
// its user does what nobody expects: nothing old is served behind a fence, and hits come back.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <herdlock/cache.hpp>
#include <herdlock/open.hpp>
#include "near_reading.hpp"
#include "scripted_redis.hpp"
#include "support/eventually.hpp"
#include "support/redis_server.hpp"
#include "support/relay.hpp"

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using maybe_text = std::optional<std::string>;
using texts = cache<std::string>;

struct redis_near_trouble : testing::Test {
  static cache_options keeping_all() {
    return {.prefix = no_prefix, .ttl = 10min, .ttl_jitter = 0, .near = {.mode = near_cache::all}};
  }
  static texts open(std::string const& url, cache_options options = keeping_all()) {
    return texts(open_store(url), std::move(options));
  }
  /// A link that stands still or is slow is not given up.
  static std::string url_through(relay const& wire) {
    return "redis://127.0.0.1:" + std::to_string(wire.port()) + "?timeout=20s";
  }
  static redis_server& shared_server() {
    auto& one = redis_server::shared();
    one.flush();
    return one;
  }
  static void set(redis_server const& at, std::string const& key, std::string const& value) {
    ASSERT_EQ(at.command({"SET", key, value}), "OK");
  }
  /// All in one turn of the server's event loop.
  static void set_many(redis_server const& at, int count, std::string const& prefix,
                       std::string const& value) {
    std::string const script =
        "for i = 1, tonumber(ARGV[1]) do redis.call('SET', ARGV[2] .. i, ARGV[3]) end return 'OK'";
    ASSERT_EQ(at.command({"EVAL", script, "0", std::to_string(count), prefix, value}), "OK");
  }
  /// Keeps "0" for `k`, behind a link that becomes slow then.
  static texts open_slow(redis_server const& at, relay& wire, milliseconds max_staleness,
                         milliseconds delay) {
    auto options = keeping_all();
    options.near.max_staleness = max_staleness;
    auto one = open(url_through(wire), options);
    set(at, "k", "0");
    read_until_kept(one, "k");
    wire.set_delay(delay);
    return one;
  }
};

// R12: what it throws out of its table it pushes, as if it had changed.
TEST_F(redis_near_trouble, WhatTheServerTracksNoLongerIsNotServedFromBefore) {
  redis_server forgetful({.arguments = {"--tracking-table-max-keys", "10"}});
  auto const one = open(forgetful.url());
  constexpr int keys = 200;
  set_many(forgetful, keys, "k", "old");
  for (int i = 1; i <= keys; ++i) read_until_kept(one, "k" + std::to_string(i));
  ASSERT_TRUE(eventually([&] { return one.stats().near_invalidations > 0; }))
      << "nobody has written, else this shows nothing";
  for (int i = 1; i <= keys; ++i) {
    auto const key = "k" + std::to_string(i);
    read_until_kept(one, key);
    set(forgetful, key, "new");
    EXPECT_EQ(answer_behind_fence(one, key), "new") << key;
  }
}

// R12: it pushes the names of keys, and not which database they are in.
TEST_F(redis_near_trouble, WhatHappensInAnotherDatabaseLeavesTheValueRight) {
  auto& common = shared_server();
  auto const one = open(common.url() + "/1");
  one.put("k", "right");
  for (int i = 0; i < 20; ++i) {
    read_until_kept(one, "k");
    set(common, "k", "wrong");
    EXPECT_EQ(answer_behind_fence(one, "k"), "right");
    read_until_kept(one, "k");
    ASSERT_EQ(common.cli("FLUSHDB"), "OK");
    EXPECT_EQ(answer_behind_fence(one, "k"), "right");
  }
  read_until_kept(one, "k");
  EXPECT_EQ(first_answer(one, "k"), "right");
}

// R2: pushes that nobody reads pile up at the server, until it closes the connection with them.
TEST_F(redis_near_trouble, PushesThatTheServerThrewAwayAreNotMissed) {
  redis_server strict(
      {.arguments = {"--client-output-buffer-limit", "normal", "64kb", "64kb", "0"}});
  relay wire(strict.port());
  auto options = keeping_all();
  options.hot.keys = std::nullopt;  // no subscription: that would be another class of clients
  auto const one = open(url_through(wire), options);
  constexpr int keys = 600;
  std::string const prefix(200, 'k');
  set_many(strict, keys, prefix, "old");
  for (int i = 1; i <= keys; ++i) read_until_kept(one, prefix + std::to_string(i));
  ASSERT_TRUE(has_tracking_client(strict));
  wire.stop_forwarding();
  set_many(strict, keys, prefix, "new");
  ASSERT_TRUE(eventually([&] { return !has_tracking_client(strict); }));
  wire.resume_forwarding();
  EXPECT_EQ(answer_behind_fence(one, prefix + "1"), "new");
  for (int i = 2; i <= keys; ++i) {
    EXPECT_EQ(first_answer(one, prefix + std::to_string(i)), "new") << i;
  }
  read_until_kept(one, prefix + "1");
}

// R4
TEST_F(redis_near_trouble, ARestartedServerLeavesNothingOfWhatWasBefore) {
  redis_server own;
  relay wire(own.port());
  auto const one = open(url_through(wire));
  set(own, "k", "0");
  for (int i = 1; i <= 3; ++i) {
    read_until_kept(one, "k");
    own.kill();
    wire.refuse();  // so that it does not come back before there is another value
    own.restart();
    set(own, "k", std::to_string(i));
    wire.accept();
    EXPECT_EQ(answer_behind_fence(one, "k"), std::to_string(i));
  }
  read_until_kept(one, "k");
}

// R6
TEST_F(redis_near_trouble, OverASlowLinkHitsGoOnAndFencesPass) {
  auto& common = shared_server();
  relay wire(common.port());
  constexpr milliseconds max_staleness = 2s;
  auto const one = open_slow(common, wire, max_staleness, 100ms);
  for (int i = 1; i <= 3; ++i) {
    set(common, "k", std::to_string(i));
    EXPECT_EQ(answer_behind_fence(one, "k"), std::to_string(i));
    read_until_kept(one, "k");
  }
  // For longer than any of its signs of life is good for.
  auto const end = std::chrono::steady_clock::now() + 2 * max_staleness;
  auto const before = one.stats().near_hits;
  std::uint64_t answers = 0;
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(first_answer(one, "k"), "3");
    ++answers;
    return std::chrono::steady_clock::now() >= end;
  }));
  EXPECT_GT(one.stats().near_hits - before, answers / 2);
}

// R6: when an answer comes it is worth nothing any more.
TEST_F(redis_near_trouble, OverALinkSlowerThanMaxStalenessNothingIsServedFromHere) {
  auto& common = shared_server();
  relay wire(common.port());
  auto const one = open_slow(common, wire, 200ms, 250ms);
  ASSERT_TRUE(eventually([&] { return one.stats().near_proof_age_ms > 200; }));
  auto const before = one.stats().near_hits;
  for (int i = 1; i <= 2; ++i) {
    set(common, "k", std::to_string(i));
    EXPECT_EQ(answer_behind_fence(one, "k"), std::to_string(i));
    EXPECT_EQ(first_answer(one, "k"), std::to_string(i));
  }
  EXPECT_EQ(one.stats().near_hits, before);
  wire.set_delay(0ms);
  read_until_kept(one, "k");
}

// R11: the server tells nobody. `gone` is there in one of the two only.
TEST_F(redis_near_trouble, BehindASwapOfDatabasesWhoDropsWhatHeKeepsGetsWhatIsThere) {
  redis_server swapped;
  auto const one = open(swapped.url());
  std::string const set_there =
      "redis.call('SELECT', 1) return redis.call('SET', KEYS[1], ARGV[1])";
  set(swapped, "gone", "there");
  for (int i = 0; i < 10; ++i) {
    set(swapped, "k", "old");
    ASSERT_EQ(swapped.command({"EVAL", set_there, "1", "k", "new"}), "OK");
    read_until_kept(one, "k");
    if (i % 2 == 0) read_until_kept(one, "gone");
    ASSERT_EQ(swapped.command({"SWAPDB", "0", "1"}), "OK");
    one.drop_kept();
    EXPECT_EQ(first_answer(one, "k"), "new");
    EXPECT_EQ(first_answer(one, "gone"), i % 2 == 0 ? "(miss)" : "there");
    read_until_kept(one, "k");
  }
}

TEST_F(redis_near_trouble, OverALinkThatIsCutNothingOfBeforeIsServedOnceItIsBack) {
  auto& common = shared_server();
  relay wire(common.port());
  auto const one = open(url_through(wire));
  for (int i = 0; i < 10; ++i) {
    set(common, "k", "old");
    read_until_kept(one, "k");
    wire.cut_all();
    set(common, "k", std::to_string(i));
    EXPECT_EQ(answer_behind_fence(one, "k"), std::to_string(i));
  }
}

// R13: what every process reads again at a push is a herd of reads.
TEST_F(redis_near_trouble, AChangeMakesNobodyReadWhoIsNotAsked) {
  auto& common = shared_server();
  auto const one = open(common.url()), other = open(common.url());
  set(common, "k", "old");
  for (auto const* const each : {&one, &other}) read_until_kept(*each, "k");
  auto const before = common.calls("get");
  for (int i = 0; i < 100; ++i) set(common, "k", std::to_string(i));
  for (auto const* const each : {&one, &other}) {
    each->fence();
    EXPECT_EQ(each->stats().near_entries, 0u);
  }
  EXPECT_EQ(common.calls("get"), before);
}

// R15: one name, and in each database another value.
TEST_F(redis_near_trouble, CachesOfOneNameInTwoDatabasesShareNothing) {
  auto& common = shared_server();
  auto const here = open(common.url()), there = open(common.url() + "/1");
  for (int i = 0; i < 20; ++i) {
    here.put("k", "here " + std::to_string(i));
    there.put("k", "there " + std::to_string(i));
    read_until_kept(here, "k");
    read_until_kept(there, "k");
    EXPECT_EQ(answer_behind_fence(here, "k"), "here " + std::to_string(i));
    EXPECT_EQ(answer_behind_fence(there, "k"), "there " + std::to_string(i));
  }
}

// R17: a pooled connection that is idle is read by nobody.
TEST_F(redis_near_trouble, AProcessThatAsksForNothingHearsOfChangesAllTheSame) {
  auto& common = shared_server();
  auto const one = open(common.url());
  set(common, "k", "old");
  read_until_kept(one, "k");
  ASSERT_EQ(one.stats().near_entries, 1u);
  auto const before = one.stats().near_invalidations;
  set(common, "k", "new");
  EXPECT_TRUE(eventually([&] { return one.stats().near_entries == 0; }));
  EXPECT_EQ(one.stats().near_invalidations, before + 1);
}

// R8: the load is voided by the write, by that of another process, too.
TEST_F(redis_near_trouble, ALoaderThatWritesItsOwnKeyLeavesWhatItWrote) {
  auto& common = shared_server();
  auto const one = open(common.url()), other = open(common.url());
  for (auto const* const writer : {&one, &other}) {
    for (int i = 0; i < 10; ++i) {
      one.invalidate("k");
      auto const writing = [&](load_context const&) {
        writer->put("k", "mine");
        return maybe_text("loaded");
      };
      EXPECT_EQ(one.get_or_load("k", writing), "loaded") << "it answers who waited for it";
      auto const stored = common.cli("GET k");
      EXPECT_EQ(stored, "mine");
      EXPECT_EQ(answer_behind_fence(one, "k"), stored);
      read_until_kept(one, "k");
      EXPECT_EQ(first_answer(one, "k"), stored);
    }
  }
}

// R16: pushes, hits and fences wait for no loader.
TEST_F(redis_near_trouble, ALoaderMayFenceAndReadWhatIsKept) {
  auto& common = shared_server();
  auto const one = open(common.url());
  for (int i = 0; i < 10; ++i) {
    set(common, "k", "old");
    one.fence();
    read_until_kept(one, "k");
    one.invalidate("loaded of k");
    auto const reading = [&](load_context const&) {
      set(common, "k", "new");
      return maybe_text(answer_behind_fence(one, "k"));
    };
    EXPECT_EQ(one.get_or_load("loaded of k", reading), "new");
  }
}

TEST_F(redis_near_trouble, KeysOfAnyBytesAndOfTheLongestKindAreTracked) {
  auto& common = shared_server();
  for (std::string const prefix : {"", "p\xff:"}) {
    auto options = keeping_all();
    options.near.mode = near_cache::hot;
    options.prefix = prefix.empty() ? no_prefix : prefix;
    auto const one = open(common.url(), options);
    std::string const longest(limits::max_name_bytes - prefix.size(), 'k');
    for (std::string const& key : {std::string("\xff\xfe"), std::string("\r\n$-1"), longest}) {
      one.pin(key);
      for (int i = 0; i < 5; ++i) {
        set(common, prefix + key, std::to_string(i));
        EXPECT_EQ(answer_behind_fence(one, key), std::to_string(i)) << key.size();
        read_until_kept(one, key);
        EXPECT_EQ(first_answer(one, key), std::to_string(i)) << key.size();
      }
    }
  }
}

std::string bulk(std::string const& what) {
  return "$" + std::to_string(what.size()) + "\r\n" + what + "\r\n";
}

// As by a long script, when the connection comes up.
TEST_F(redis_near_trouble, AServerThatIsTooBusyToTrackIsAskedAgain) {
  std::atomic<int> asked_to_track{0};
  scripted_redis const busy([&](scripted_redis::command_words const& words) {
    if (words[0] == "TIME") return "*2\r\n" + bulk("1700000000") + bulk("1");
    if (words[0] == "INFO") return bulk("redis_version:7.0.15\r\nrole:master\r\n");
    if (words[0] == "PTTL") return std::string(":-1\r\n");
    if (words[0] == "GET") return bulk("there");
    bool const tracks = words.size() > 1 && words[1] == "TRACKING";
    if (tracks && ++asked_to_track == 1) return std::string("-BUSY running a script\r\n");
    return std::string("+OK\r\n");
  });
  auto options = keeping_all();
  options.hot.keys = std::nullopt;  // the peer serves one connection
  store const opened = open_store(busy.url());
  texts const one(opened, options);
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(first_answer(one, "k"), "there");
    return one.stats().near_hits > 0;
  }));
  EXPECT_GE(asked_to_track, 2);
}

// R5: it can put a push into the middle of a reply.
TEST_F(redis_near_trouble, AServerBefore7KeepsItsValuesToItselfAndAWarningSaysWhy) {
  std::atomic<int> looks{0};
  std::atomic<bool> was_asked_to_track{false};
  scripted_redis const old([&](scripted_redis::command_words const& words) {
    if (words[0] == "TIME") return "*2\r\n" + bulk("1700000000") + bulk("1");
    if (words[0] == "INFO") return bulk("redis_version:6.2.7\r\nrole:master\r\n");
    if (words[0] == "PTTL") return std::string(":-1\r\n");
    if (words[0] == "CLIENT") was_asked_to_track = true;
    if (words[0] != "GET") return std::string("+OK\r\n");
    ++looks;
    return bulk("there");
  });
  auto options = keeping_all();
  options.hot.keys = std::nullopt;  // the peer serves one connection
  store const opened = open_store(old.url());
  texts const one(opened, options);
  ASSERT_TRUE(eventually([&] {
    EXPECT_EQ(first_answer(one, "k"), "there");
    return !opened.warnings().empty();
  }));
  auto const said = opened.warnings().back();
  EXPECT_NE(said.find("Redis 6.2.7"), said.npos) << said;
  EXPECT_NE(said.find("needs 7.0 or newer"), said.npos) << said;
  int const before = looks;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first_answer(one, "k"), "there");
  EXPECT_EQ(looks, before + 10);
  EXPECT_EQ(one.stats().near_inserts, 0u);
  EXPECT_FALSE(was_asked_to_track);
}

}  // namespace
}  // namespace herdlock_test
