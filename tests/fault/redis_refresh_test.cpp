// Refreshing and expiring against a real server: what other programs keep there, what a full server
// refuses, and what is left behind.
#include "cache/keys/frame.hpp"
#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

cache_value framed(cache_value value, layout form) {
  return runtime::with_header({{.ttl = 5min, .grace = 1h}, std::move(value)}, form);
}

struct redis_refresh : testing::Test {
  redis_refresh() { server.flush(); }

  result<claim_reply> refresh(std::string_view key, owner_token const& owner,
                              milliseconds below = 2h, milliseconds ttl = 30s) {
    return ports.get<claim_reply>([&](auto h) {
      ports.values().claim({cache_key(key), owner, ttl, layout::string, below}, std::move(h));
    });
  }
  std::uint64_t refreshed_by(owner_token const& owner, std::string_view key) {
    return std::get<claimed>(refresh(key, owner).value()).fencing.value;
  }
  result<bool> expire(std::string_view key, milliseconds keep = 10min) {
    return ports.get<bool>(
        [&](auto h) { ports.values().expire(cache_key(key), keep, std::move(h)); });
  }
  bool is_stale(std::string_view key, layout form = layout::string) {
    auto const found = ports.look_up(key, form).value();
    auto const taken = runtime::without_header(found.value());
    return std::get<runtime::framed_value>(taken).header.state == algo::header_state::expired;
  }
  long pttl(std::string const& key) { return std::stol(server.cli("PTTL " + key)); }

  redis_server server;
  redis_ports ports{server.url()};
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

// A value without a ttl has all the time there is.
TEST_F(redis_refresh, WhatNeverEndsIsNotRefreshedAndEndsWhenItIsExpired) {
  server.command({"SET", "for ever", "x"});
  EXPECT_TRUE(std::holds_alternative<cache_hit>(refresh("for ever", mine, 24h * 365).value()));
  ASSERT_TRUE(ports.put("k", framed(std::string("x"), layout::string)).has_value());
  server.cli("PERSIST k");
  EXPECT_TRUE(expire("k").value());
  EXPECT_GT(pttl("k"), 0);
  EXPECT_LE(pttl("k"), 600'000);
  EXPECT_TRUE(is_stale("k"));
}

TEST_F(redis_refresh, AnotherTypeIsNamedAndLeftAlone) {
  server.cli("RPUSH list a");
  EXPECT_EQ(expire("list").error(), errc::wrong_type);
  EXPECT_EQ(expire("list", 0ms).error(), errc::wrong_type);
  EXPECT_EQ(refresh("list", mine).error(), errc::wrong_type);
  EXPECT_EQ(server.cli("LLEN list"), "1");
}

TEST_F(redis_refresh, ExpireGoesOnAtAServerThatIsFull) {
  hash_fields const fields{{"name", "x"}};
  ASSERT_TRUE(ports.put("s", framed(std::string("x"), layout::string), 1h).has_value());
  ASSERT_TRUE(ports.put("h", framed(fields, layout::hash), 1h).has_value());
  ASSERT_TRUE(ports.put("gone", std::string("plain"), 1h).has_value());
  server.cli("CONFIG SET maxmemory 1");
  ASSERT_NE(server.cli("SET other x").find("OOM"), std::string::npos);
  for (std::string const key : {"s", "h", "gone"}) EXPECT_TRUE(expire(key).value()) << key;
  EXPECT_TRUE(is_stale("s"));
  EXPECT_TRUE(is_stale("h", layout::hash));
  EXPECT_FALSE(ports.look_up("gone").value().has_value());
  EXPECT_LE(pttl("h"), 600'000);
}

// The claim is refused, so that the value is served and nobody is told of a refresh.
TEST_F(redis_refresh, AFullServerRefusesTheClaimAndKeepsTheValue) {
  ASSERT_TRUE(ports.put("k", std::string("old"), 1h).has_value());
  server.cli("CONFIG SET maxmemory 1");
  EXPECT_TRUE(refresh("k", mine).has_error());
  EXPECT_EQ(ports.look_up("k").value(), cache_value(std::string("old")));
  server.cli("CONFIG SET maxmemory 0");
  EXPECT_GT(refreshed_by(other, "k"), 0u);
}

TEST_F(redis_refresh, WhoLoadedBeforeAFlushIsSuperseded) {
  ASSERT_TRUE(ports.put("k", std::string("old"), 1h).has_value());
  auto const before = refreshed_by(mine, "k");
  server.flush();
  EXPECT_GT(refreshed_by(other, "k"), before);
  EXPECT_EQ(ports.fill("k", mine, std::string("late")).value(), fill_reply::superseded);
  EXPECT_FALSE(ports.look_up("k").value().has_value());
  EXPECT_EQ(ports.fill("k", other, std::string("new")).value(), fill_reply::stored);
}

TEST_F(redis_refresh, NothingIsLeftWithoutTtl) {
  for (std::string const key : {"claimed", "filled", "failed", "expired"}) {
    ASSERT_TRUE(ports.put(key, framed(std::string("x"), layout::string), 1h).has_value());
    refreshed_by(mine, key);
  }
  ports.fill("filled", mine, std::string("new"));
  ports.get<fill_reply>([&](auto h) {
    ports.values().fail(cache_key("failed"), mine, "no such table", 20s, std::move(h));
  });
  EXPECT_TRUE(expire("expired").value());
  std::istringstream keys(server.cli("KEYS *"));
  int count = 0;
  for (std::string key; std::getline(keys, key); ++count) EXPECT_GT(pttl(key), 0) << key;
  EXPECT_EQ(count, 4 + 4 + 1 + 1) << "values, counters, a claim and an error";
}

// By their scripts, which know no refresh: the keys are the same.
TEST_F(redis_refresh, ProcessesOfAnOlderVersionAreInItsWayAndItInTheirs) {
  ASSERT_TRUE(ports.put("k", std::string("old"), 1h).has_value());
  refreshed_by(mine, "k");
  server.command({"SET", "k", "put by an older one", "PX", "100000"});
  server.command({"DEL", "{k}:herdlock:claim", "{k}:herdlock:error"});
  EXPECT_EQ(ports.fill("k", mine, std::string("late")).value(), fill_reply::superseded);
  server.command({"DEL", "k"});
  server.command({"SET", "{k}:herdlock:claim", "s" + other.str(), "NX", "PX", "30000"});
  EXPECT_TRUE(std::holds_alternative<claim_busy>(refresh("k", mine).value()));
  EXPECT_EQ(ports.fill("k", other, std::string("new")).value(), fill_reply::stored);
}

}  // namespace
}  // namespace herdlock_test
