// The counter of a key's claims against a real server: how long it lives, and what its tokens are
// when it has gone (S17).
#include <herdlock/herdlock.hpp>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

struct redis_claim_counter : testing::Test {
  redis_claim_counter() { server.flush(); }

  std::uint64_t token_of(std::string_view key, milliseconds ttl = 5s) {
    return std::get<claimed>(ports.claim(key, mine, ttl).value()).fencing.value;
  }
  result<fill_reply> fail(std::string_view key, milliseconds back_off) {
    return ports.get<fill_reply>([&](auto h) {
      ports.values().fail(cache_key(key), mine, "no such table", back_off, std::move(h));
    });
  }
  result<renew_reply> extend(std::string_view key, milliseconds ttl) {
    return ports.get<renew_reply>(
        [&](auto h) { ports.values().extend(cache_key(key), mine, ttl, std::move(h)); });
  }
  long left(std::string const& counter = "{k}:herdlock:claim-fence") {
    return std::stol(server.command({"PTTL", counter}));
  }
  /// When a side key of the entry ends.
  long long ends(std::string const& role) {
    return std::stoll(server.command({"PEXPIRETIME", "{k}:herdlock:" + role}));
  }

  redis_server& server = redis_server::shared();
  redis_ports ports{server.url()};
  owner_token mine = owner_token::generate();
};

TEST_F(redis_claim_counter, LivesAsLongAsTheClaimCanBeHeldAndTenSeconds) {
  token_of("k", 5s);
  EXPECT_GT(ends("claim-fence"), ends("claim"));
  EXPECT_LE(left(), 15'000);
  ASSERT_EQ(extend("k", 60s).value(), renew_reply::renewed);
  EXPECT_GT(ends("claim-fence"), ends("claim"));
  EXPECT_LE(left(), 70'000);
  ASSERT_EQ(ports.fill("k", mine, std::string("v"), 10min).value(), fill_reply::stored);
  EXPECT_LE(left(), 70'000);
}

TEST_F(redis_claim_counter, LivesAsLongAsTheErrorOfAClaimAnswersAndTenSeconds) {
  token_of("k", 5s);
  ASSERT_EQ(fail("k", 10min).value(), fill_reply::stored);
  EXPECT_GT(ends("claim-fence"), ends("error"));
  EXPECT_LE(left(), 610'000);
}

TEST_F(redis_claim_counter, IsNeverCutShort) {
  token_of("k", 60s);
  auto const first = ends("claim-fence");
  ASSERT_EQ(fail("k", 0ms).value(), fill_reply::stored);
  token_of("k", 5s);
  EXPECT_GE(ends("claim-fence"), first);
  ASSERT_EQ(extend("k", 1s).value(), renew_reply::renewed);
  EXPECT_GE(ends("claim-fence"), first);
}

// As a crawler's keys that do not exist: what is left of each is gone soon.
TEST_F(redis_claim_counter, OfManyKeysThatAreLoadedOnceNothingStaysForLong) {
  cache<std::string> const values(
      open_store(server.url()),
      {.prefix = "p:", .ttl = 1s, .negative_ttl = 1s, .claim_ttl = 5s, .error_back_off = 1s});
  auto const nothing = [] { return std::optional<std::string>(); };
  for (int i = 0; i < 100; ++i) values.get_or_load(std::to_string(i), nothing);
  for (int i = 0; i < 100; ++i) {
    auto const counter = "{p:" + std::to_string(i) + "}:herdlock:claim-fence";
    EXPECT_LE(left(counter), 5'000 + 1'000 + 10'000);
  }
}

TEST_F(redis_claim_counter, TokensRiseAlsoWhenTheCounterHasGone) {
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    auto const token = token_of("k");
    EXPECT_GT(token, last);
    last = token;
    ASSERT_EQ(fail("k", 0ms).value(), fill_reply::stored);
    if (i % 2 == 0) server.command({"DEL", "{k}:herdlock:claim-fence"});
  }
}

// The server's clock was an hour ahead when the counter began, and was set back.
TEST_F(redis_claim_counter, TokensRiseWhileTheClockIsBehindTheCounter) {
  auto const seconds = std::stoull(server.cli("TIME")) + 3'600;
  auto const ahead = seconds * 1'000'000;
  server.command({"SET", "{k}:herdlock:claim-fence", std::to_string(ahead), "PX", "3610000"});
  EXPECT_EQ(token_of("k"), ahead + 1);
  EXPECT_GT(left(), 3'600'000) << "else the next counter would begin below it";
}

TEST_F(redis_claim_counter, OneWithoutATtlGetsOne) {  // S8
  server.command({"SET", "{k}:herdlock:claim-fence", "41"});
  EXPECT_EQ(token_of("k"), 42u);
  EXPECT_GT(left(), 0);
}

// The claim is given back, or the key would be blocked until it ends.
TEST_F(redis_claim_counter, WhoMayNotAskTheTimeGetsNoClaimAndLeavesNone) {
  redis_server refusing({.users = {"alice on >sesame ~* &* +@all -time"}});
  redis_ports alice("redis://alice:sesame@127.0.0.1:" + std::to_string(refusing.port()));
  EXPECT_EQ(alice.claim("k", mine).error(), errc::access_denied);
  EXPECT_EQ(refusing.cli("DBSIZE"), "0");
}

}  // namespace
}  // namespace herdlock_test
