// The guarded cache over Redis servers that refuse a part of what it asks: writes, or channels.
#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <future>
#include <thread>

#include <herdlock/cache.hpp>
#include <herdlock/examination.hpp>
#include "redis_ports.hpp"
#include "support/gate.hpp"

namespace herdlock_test {
namespace {

using maybe_text = std::optional<std::string>;

// Of what is cached everything is a hit while the server refuses writes, and misses are loaded.
void expect_hits_beside_misses(redis_server& server, std::function<void()> const& refuse_writes,
                               std::string const& word) {
  SCOPED_TRACE(word);
  cache<std::string> const strings(open_store(server.url()), {.prefix = no_prefix, .ttl = 10min});
  for (int i = 0; i < 10; ++i) strings.put(cache_key("hot" + std::to_string(i)), "stored");
  refuse_writes();
  ASSERT_NE(server.cli("SET other x").find(word), std::string::npos);
  int cold = 0;
  auto const began = clock::now();
  for (int i = 0; i < 1000; ++i) {
    auto const got = strings.get_or_load(cache_key("hot" + std::to_string(i % 10)),
                                         [](load_context const&) { return maybe_text("loaded"); });
    EXPECT_EQ(got, "stored");
    if (i % 5 != 0) continue;
    auto const missed = strings.get_or_load(cache_key("cold"), [&](load_context const&) {
      ++cold;
      return maybe_text("loaded");
    });
    EXPECT_EQ(missed, "loaded");
  }
  EXPECT_EQ(strings.stats().hits, 1000u);
  auto const quarters = (clock::now() - began) / 250ms;
  EXPECT_LE(cold, 1 + quarters) << "one in each back-off";
  EXPECT_LT(strings.stats().store_errors, 100u) << "claims are left alone for a while";
}

// S9: a full cache server must not be a stampede.
TEST(redis_cache_refusal, HitsGoOnWhileTheServerIsFull) {
  redis_server server;
  expect_hits_beside_misses(
      server, [&] { server.cli("CONFIG SET maxmemory 1"); }, "OOM");
}

// S9
TEST(redis_cache_refusal, HitsGoOnWhileTheServerHasTooFewReplicas) {
  redis_server server;
  expect_hits_beside_misses(
      server, [&] { server.cli("CONFIG SET min-replicas-to-write 1"); }, "NOREPLICAS");
}

// S9
TEST(redis_cache_refusal, HitsGoOnWhileTheServerCannotSave) {
  redis_server server({.arguments = {"--enable-protected-configs", "yes", "--save", "3600 1"}});
  auto const fail_to_save = [&] {
    ASSERT_EQ(server.cli("CONFIG SET dir /proc"), "OK");  // nothing can be written there
    server.cli("BGSAVE");
    ASSERT_TRUE(eventually([&] {
      return server.cli("INFO persistence").find("rdb_last_bgsave_status:err") != std::string::npos;
    }));
  };
  expect_hits_beside_misses(server, fail_to_save, "MISCONF");
}

// S1: channels only wake the waiters; without them there is still one load among all processes.
TEST(redis_cache_refusal, WithoutChannelsThereIsOneLoadAndAWarning) {
  redis_server server({.users = {"alice on >sesame ~* +@all resetchannels"}});
  auto const url = "redis://alice:sesame@127.0.0.1:" + std::to_string(server.port());
  store const loading = open_store(url);
  store const waiting = open_store(url);
  cache<std::string> const first(loading, {.prefix = no_prefix}),
      second(waiting, {.prefix = no_prefix});
  gate started, go_on;
  auto loaded = std::async(std::launch::async, [&] {
    return first.get_or_load(cache_key("k"), [&](load_context const&) {
      started.open();
      EXPECT_TRUE(go_on.wait());
      return maybe_text("loaded once");
    });
  });
  EXPECT_TRUE(started.wait());
  auto waited = std::async(std::launch::async, [&] {
    return second.get_or_load(cache_key("k"),
                              [](load_context const&) { return maybe_text("again"); });
  });
  EXPECT_TRUE(eventually([&] { return !waiting.warnings().empty() || second.stats().loads > 0; }));
  go_on.open();
  EXPECT_EQ(loaded.get(), "loaded once");
  EXPECT_EQ(waited.get(), "loaded once");
  EXPECT_EQ(second.stats().loads, 0u);
  ASSERT_FALSE(waiting.warnings().empty());
  EXPECT_NE(waiting.warnings().back().find("channels"), std::string::npos);
}

// The channels' own names are tried: a user needs no others.
TEST(redis_cache_refusal, DoctorLooksForTheChannels) {
  std::string const events = " &{*}:herdlock:events:*", grants = " &herdlock:grants:*";
  redis_server server({.users = {"none on >sesame ~* +@all resetchannels",
                                 "some on >sesame ~* +@all resetchannels" + events,
                                 "both on >sesame ~* +@all resetchannels" + events + grants}});
  auto const warned = [&](std::string const& user) {
    auto const at = "redis://" + user + ":sesame@127.0.0.1:" + std::to_string(server.port());
    auto const found = examine_store(at).value().findings;
    return std::any_of(found.begin(), found.end(), [](finding const& each) {
      return each.check == "redis.channels" && each.weight == severity::warning;
    });
  };
  EXPECT_TRUE(warned("none"));
  EXPECT_TRUE(warned("some"));
  EXPECT_FALSE(warned("both"));
}

struct redis_cache_events : testing::Test {
  redis_cache_events() { server.flush(); }
  std::uint64_t claim(std::string_view key, owner_token const& owner) {
    return std::get<claimed>(ports.claim(key, owner).value()).fencing.value;
  }
  // Watches, says `event` when the watch has looked, and returns what the watch comes to.
  result<watch_reply> watched(std::string_view key, std::string const& event) {
    auto const channel = "{" + std::string(key) + "}:herdlock:events:0";
    std::optional<result<watch_reply>> outcome;
    ports.start<watch_reply>(outcome, [&](auto h) {
      ports.values().watch({cache_key(key), 60s, layout::string}, std::move(h));
    });
    auto const looks = server.calls("pttl");
    EXPECT_TRUE(ports.wait_for([&] { return server.calls("pttl") > looks || outcome; }));
    ports.look_up("another");  // behind the look on the same connection
    server.command({"PUBLISH", channel, event});
    EXPECT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
    return *outcome;
  }
  redis_server& server = redis_server::shared();
  redis_ports ports{server.url()};
  owner_token mine = owner_token::generate();
};

// An event may be read late, over a connection of its own: then what it brings is from before an
// invalidate that has returned since, and from before the claim that is watched now.
TEST_F(redis_cache_events, AnEventOfAnEarlierClaimAnswersNobody) {
  auto const old = claim("k", mine);
  ports.get<bool>([&](auto h) { ports.values().invalidate(cache_key("k"), std::move(h)); });
  auto const now = claim("k", owner_token::generate());
  ASSERT_GT(now, old);
  auto const late = watched("k", "#" + std::to_string(old) + " sOLD");
  EXPECT_TRUE(std::holds_alternative<look_again>(late.value()));
  auto const unnamed = watched("k", "sOLD");
  EXPECT_TRUE(std::holds_alternative<look_again>(unnamed.value())) << "of an older version";
  auto const error = watched("k", "#" + std::to_string(old) + " e5000 OLD");
  EXPECT_TRUE(std::holds_alternative<look_again>(error.value()));
  auto const own = watched("k", "#" + std::to_string(now) + " sNEW");
  ASSERT_TRUE(std::holds_alternative<cache_hit>(own.value()));
  EXPECT_EQ(std::get<cache_hit>(*own).value, cache_value(std::string("NEW")));
}

}  // namespace
}  // namespace herdlock_test
