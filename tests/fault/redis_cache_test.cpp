// Cache entries against a real server: layouts, markers, events, and what is left behind.
#include <boost/asio/bind_cancellation_slot.hpp>

#include "redis_ports.hpp"
#include "stores/redis/cache/entry_codec.hpp"

namespace herdlock_test {
namespace {

struct redis_cache : testing::Test {
  redis_cache() { server.flush(); }
  void start_watch(redis_ports& ports, std::string_view key,
                   std::optional<result<watch_reply>>& outcome, milliseconds wait = 60s,
                   layout form = layout::string) {
    looks = server.calls("pttl");
    ports.start<watch_reply>(outcome, [&](auto h) {
      ports.values().watch({cache_key(key), wait, form}, std::move(h));
    });
  }
  // Whether what happens from now on is pushed to the watch that was started last: the server has
  // its subscription, and the answer to its look has been read.
  bool listening(redis_ports& ports, std::string const& channel) {
    if (server.cli("PUBSUB NUMSUB " + channel) != channel + "\n1") return false;
    if (server.calls("pttl") <= looks) return false;
    ports.look_up("another");  // behind the look on the same connection
    return true;
  }
  void wait_until_listening(redis_ports& ports, std::string const& channel) {
    ASSERT_TRUE(ports.wait_for([&] { return listening(ports, channel); }));
  }
  redis_server& server = redis_server::shared();
  long looks = 0;  // before the last watch
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

TEST_F(redis_cache, ReadsAndWritesWhatOtherProgramsKeep) {
  redis_ports ports(server.url());
  server.command({"SET", "s", "a value"});
  server.command({"HSET", "h", "name", "x", "price", "3"});
  EXPECT_EQ(ports.look_up("s").value(), cache_value(std::string("a value")));
  EXPECT_EQ(ports.look_up("h", layout::hash).value(),
            cache_value(hash_fields{{"name", "x"}, {"price", "3"}}));
  EXPECT_FALSE(ports.look_up("none").value().has_value());
  EXPECT_FALSE(ports.look_up("none", layout::hash).value().has_value());
  ASSERT_TRUE(ports.put("h", hash_fields{{"name", "y"}}, 1h).has_value());
  EXPECT_EQ(server.cli("HGETALL h"), "name\ny");  // replaced as a whole, not mixed
  EXPECT_GT(std::stol(server.cli("PTTL h")), 3'300'000);
  ASSERT_TRUE(ports.put("s", std::string(), 30s).has_value());
  EXPECT_EQ(ports.look_up("s").value(), cache_value(std::string()));
}

TEST_F(redis_cache, HashOfManyFieldsIsKeptWhole) {
  redis_ports ports(server.url());
  hash_fields fields;
  for (int i = 0; i < 20'000; ++i) fields.emplace_back("f" + std::to_string(i), std::to_string(i));
  ASSERT_TRUE(ports.put("h", fields).has_value());
  EXPECT_EQ(server.cli("HLEN h"), "20000");
  auto const found = ports.look_up("h", layout::hash).value();
  EXPECT_EQ(std::get<hash_fields>(found.value()).size(), fields.size());
}

TEST_F(redis_cache, NegativeEntryAnswersBothLayouts) {
  redis_ports ports(server.url());
  ASSERT_TRUE(ports.put("n", absent{}).has_value());
  EXPECT_EQ(ports.look_up("n").value(), cache_value(absent{}));
  EXPECT_EQ(ports.look_up("n", layout::hash).value(), cache_value(absent{}));
  ASSERT_TRUE(std::holds_alternative<claimed>(ports.claim("m", mine, 30s, layout::hash).value()));
  EXPECT_EQ(ports.fill("m", mine, absent{}).value(), fill_reply::stored);
  EXPECT_EQ(server.cli("TYPE m"), "hash");
  EXPECT_EQ(ports.look_up("m", layout::hash).value(), cache_value(absent{}));
  EXPECT_EQ(ports.look_up("m").value(), cache_value(absent{}));
}

TEST_F(redis_cache, ValueThatLooksLikeTheMarkerIsRefused) {
  redis_ports ports(server.url());
  auto const marker = std::string(redis::absent_marker);
  EXPECT_EQ(ports.put("k", marker).error(), errc::invalid_value);
  EXPECT_EQ(ports.put("k", hash_fields{{marker, "x"}}).error(), errc::invalid_value);
  EXPECT_EQ(server.cli("DBSIZE"), "0");
}

TEST_F(redis_cache, OtherTypesAndLayoutsAreNamedAndNotOverwritten) {
  redis_ports ports(server.url());
  server.cli("RPUSH list a");
  server.cli("HSET hash a b");
  EXPECT_EQ(ports.look_up("list").error(), errc::wrong_type);
  EXPECT_EQ(ports.look_up("hash").error(), errc::wrong_type);
  EXPECT_EQ(ports.claim("list", mine).error(), errc::wrong_type);
  EXPECT_EQ(ports.claim("hash", mine).error(), errc::wrong_type);
  EXPECT_EQ(ports.put("list", std::string("x")).error(), errc::wrong_type);
  auto const removed =
      ports.get<bool>([&](auto h) { ports.values().invalidate(cache_key("list"), std::move(h)); });
  EXPECT_EQ(removed.error(), errc::wrong_type);
  EXPECT_EQ(server.cli("LLEN list"), "1");
}

TEST_F(redis_cache, LateFillIsSuperseded) {  // S6
  redis_ports ports(server.url());
  auto const first = std::get<claimed>(ports.claim("k", mine).value()).fencing;
  EXPECT_EQ(std::get<claimed>(ports.claim("k", mine).value()).fencing, first);
  ASSERT_TRUE(ports.put("k", std::string("new")).has_value());
  EXPECT_EQ(ports.fill("k", mine, std::string("old")).value(), fill_reply::superseded);
  EXPECT_EQ(server.cli("GET k"), "new");
  server.cli("DEL k");
  EXPECT_GT(std::get<claimed>(ports.claim("k", other).value()).fencing, first);
}

TEST_F(redis_cache, NothingIsLeftWithoutTtl) {  // S8
  redis_ports ports(server.url());
  ports.claim("a", mine);
  ports.claim("b", mine);
  ports.fill("b", mine, std::string("x"));
  ports.claim("c", mine);
  ports.get<fill_reply>([&](auto h) {
    ports.values().fail(cache_key("c"), mine, "no such table", 1h, std::move(h));
  });
  ports.put("d", hash_fields{{"a", "b"}});
  std::istringstream keys(server.cli("KEYS *"));
  int count = 0;
  for (std::string key; std::getline(keys, key); ++count) {
    EXPECT_GT(std::stol(server.cli("PTTL " + key)), 0) << key;
  }
  EXPECT_GE(count, 6);
}

TEST_F(redis_cache, ErrorOfALoadAnswersEverybodyForAWhile) {  // S5
  redis_ports ports(server.url());
  ports.claim("k", mine);
  std::optional<result<watch_reply>> watched;
  start_watch(ports, "k", watched);
  wait_until_listening(ports, "{k}:herdlock:events:0");
  auto const done = ports.get<fill_reply>([&](auto h) {
    ports.values().fail(cache_key("k"), mine, "no such table", 1h, std::move(h));
  });
  EXPECT_EQ(done.value(), fill_reply::stored);
  ASSERT_TRUE(ports.wait_for([&] { return watched.has_value(); }));
  EXPECT_EQ(std::get<load_backing_off>(watched->value()).error, "no such table");
  auto const reply = ports.claim("k", other).value();
  EXPECT_EQ(std::get<load_backing_off>(reply).error, "no such table");
  EXPECT_GT(std::get<load_backing_off>(reply).remaining, 55min);
}

TEST_F(redis_cache, FillIsPushedToWatchersInEveryProcess) {  // S4
  redis_ports here(server.url());
  redis_ports there(server.url());
  here.claim("k", mine);
  std::optional<result<watch_reply>> first, second;
  start_watch(there, "k", first);
  start_watch(there, "k", second);
  wait_until_listening(there, "{k}:herdlock:events:0");
  here.fill("k", mine, std::string("value"));
  ASSERT_TRUE(there.wait_for([&] { return first && second; }));
  EXPECT_EQ(std::get<cache_hit>(first->value()).value, cache_value(std::string("value")));
  EXPECT_EQ(std::get<cache_hit>(second->value()).value, cache_value(std::string("value")));
  EXPECT_TRUE(there.wait_for(
      [&] { return server.cli("PUBSUB CHANNELS *").empty(); }));  // B11: nothing stays subscribed
}

TEST_F(redis_cache, HashAndLargeValuesAreAnnouncedToo) {
  redis_ports ports(server.url());
  ports.claim("h", mine, 30s, layout::hash);
  std::optional<result<watch_reply>> watched, large;
  start_watch(ports, "h", watched, 60s, layout::hash);
  wait_until_listening(ports, "{h}:herdlock:events:0");
  ports.fill("h", mine, hash_fields{{"a", "1:2"}, {"", ""}});
  ASSERT_TRUE(ports.wait_for([&] { return watched.has_value(); }));
  EXPECT_EQ(std::get<cache_hit>(watched->value()).value,
            cache_value(hash_fields{{"a", "1:2"}, {"", ""}}));
  ports.claim("l", mine);
  start_watch(ports, "l", large);
  wait_until_listening(ports, "{l}:herdlock:events:0");
  ports.fill("l", mine, std::string(redis::max_event_bytes + 1, 'x'));
  ASSERT_TRUE(ports.wait_for([&] { return large.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<look_again>(large->value()));
}

TEST_F(redis_cache, WatchWithoutAClaimLooksAgain) {  // B9
  redis_ports ports(server.url());
  std::optional<result<watch_reply>> watched;
  start_watch(ports, "k", watched);
  ASSERT_TRUE(ports.wait_for([&] { return watched.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<look_again>(watched->value()));
}

TEST_F(redis_cache, WatchEndsWhenTheClaimOfADeadLoaderExpires) {  // S2
  redis_ports ports(server.url());
  ports.claim("k", mine, 300ms);
  std::optional<result<watch_reply>> watched;
  start_watch(ports, "k", watched, 10min);
  ASSERT_TRUE(ports.wait_for([&] { return watched.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<look_again>(watched->value()));
  EXPECT_EQ(server.cli("EXISTS {k}:herdlock:claim"), "0");
}

TEST_F(redis_cache, WatchEndsAfterItsWaitAndWhenCancelled) {
  redis_ports ports(server.url());
  ports.claim("k", mine);
  std::optional<result<watch_reply>> watched;
  start_watch(ports, "k", watched, 50ms);
  ASSERT_TRUE(ports.wait_for([&] { return watched.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<look_again>(watched->value()));
  asio::cancellation_signal signal;
  std::optional<result<watch_reply>> canceled;
  ports.values().watch({cache_key("k"), 60s},
                       asio::bind_cancellation_slot(
                           signal.slot(), [&](result<watch_reply> r) { canceled = std::move(r); }));
  ports.wait_for([] { return false; }, 20ms);
  signal.emit(asio::cancellation_type::terminal);
  ASSERT_TRUE(ports.wait_for([&] { return canceled.has_value(); }));
  EXPECT_EQ(canceled->error(), errc::canceled);
}

TEST_F(redis_cache, LostConnectionForEventsSendsWatchersToLookAgain) {  // B9
  redis_ports ports(server.url());
  ports.claim("k", mine);
  std::optional<result<watch_reply>> watched, again;
  start_watch(ports, "k", watched);
  wait_until_listening(ports, "{k}:herdlock:events:0");
  server.cli("CLIENT KILL TYPE pubsub");
  ASSERT_TRUE(ports.wait_for([&] { return watched.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<look_again>(watched->value()));
  // Until the connection is there again, watches end soon, and their callers ask again.
  bool watching = false;
  ASSERT_TRUE(ports.wait_for([&] {
    if (again || !watching) {
      again.reset();
      start_watch(ports, "k", again);
      watching = true;
    }
    return listening(ports, "{k}:herdlock:events:0") && !again;
  }));
  ports.fill("k", mine, std::string("value"));
  ASSERT_TRUE(ports.wait_for([&] { return again.has_value(); }));
  EXPECT_TRUE(std::holds_alternative<cache_hit>(again->value()));
}

TEST_F(redis_cache, SameKeyInAnotherDatabaseIsAnotherKey) {
  redis_ports zero(server.url());
  redis_ports one(server.url() + "/1");
  zero.claim("k", mine);
  one.claim("k", other);
  std::optional<result<watch_reply>> watched;
  start_watch(zero, "k", watched);
  wait_until_listening(zero, "{k}:herdlock:events:0");
  one.fill("k", other, std::string("of database 1"));
  EXPECT_FALSE(zero.wait_for([&] { return watched.has_value(); }, 50ms));
  zero.fill("k", mine, std::string("of database 0"));
  ASSERT_TRUE(zero.wait_for([&] { return watched.has_value(); }));
  EXPECT_EQ(std::get<cache_hit>(watched->value()).value, cache_value(std::string("of database 0")));
}

TEST_F(redis_cache, HitIsOnePlainCommand) {  // S10
  redis_ports ports(server.url());
  ASSERT_TRUE(ports.put("k", std::string("v")).has_value());
  server.cli("CONFIG RESETSTAT");
  ASSERT_TRUE(ports.look_up("k").has_value());
  auto const stats = server.cli("INFO commandstats");
  EXPECT_NE(stats.find("cmdstat_get:calls=1,"), std::string::npos) << stats;
  EXPECT_EQ(stats.find("cmdstat_eval"), std::string::npos) << stats;
}

}  // namespace
}  // namespace herdlock_test
