// redis://…?dialect=plain against a real server: one key and no other, other clients' keys, and
// what is refused.
#include <herdlock/herdlock.hpp>

#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

struct plain_dialect : testing::Test {
  plain_dialect() { server.flush(); }
  std::string url(std::string const& options = "") const {
    return server.url() + "?dialect=plain" + options;
  }
  redis_server& server = redis_server::shared();
  owner_token mine = owner_token::generate();
  owner_token other = owner_token::generate();
};

grant grant_of(result<acquire_reply> const& reply) {
  if (reply.has_error()) throw error(reply.error());
  return std::get<grant>(*reply);
}

TEST_F(plain_dialect, TouchesTheResourcesKeyAndNoOther) {
  redis_ports ports(url());
  EXPECT_EQ(grant_of(ports.acquire("r", mine, 1h)).fencing.value, 0u);
  EXPECT_EQ(server.cli("KEYS *"), "r");
  EXPECT_EQ(server.cli("GET r"), mine.str());
  EXPECT_GT(std::stol(server.cli("PTTL r")), 3'300'000);
  EXPECT_EQ(ports.renew("r", mine, 2h).value(), renew_reply::renewed);
  EXPECT_GT(std::stol(server.cli("PTTL r")), 6'900'000);
  EXPECT_EQ(server.cli("KEYS *"), "r");
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("DBSIZE"), "0");
}

// A user who may touch this key and no other is enough.
TEST_F(plain_dialect, NeedsNoRightToAnyOtherKeyOrChannel) {
  redis_server guarded({.users = {"app on >s3cret ~lock:r resetchannels +@all"}});
  redis_ports ports("redis://app:s3cret@127.0.0.1:" + std::to_string(guarded.port()) +
                    "?dialect=plain&prefix=lock:");
  grant_of(ports.acquire("r", mine));
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::renewed);
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
}

TEST_F(plain_dialect, ThePrefixStandsInFrontOfEachKey) {
  redis_ports ports(url("&prefix=laravel-cache-"));
  grant_of(ports.acquire("r", mine));
  EXPECT_EQ(server.cli("KEYS *"), "laravel-cache-r");
  EXPECT_TRUE(ports
                  .get<std::optional<lease_info>>(
                      [&](auto h) { ports.leases().inspect(resource("r"), std::move(h)); })
                  .value());
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::renewed);
  EXPECT_EQ(ports
                .get<release_reply>(
                    [&](auto h) { ports.leases().force_release(resource("r"), std::move(h)); })
                .value(),
            release_reply::released);
  EXPECT_EQ(server.cli("DBSIZE"), "0");
}

TEST_F(plain_dialect, AnotherClientsKeyInWholeSecondsIsBusyAndNeverTouched) {
  redis_ports ports(url());
  EXPECT_EQ(server.cli("SET r theirs NX EX 3600"), "OK");
  auto const reply = busy_of(ports.acquire("r", mine));
  EXPECT_EQ(reply.holder, "another client");
  EXPECT_GT(reply.remaining, 55min);
  EXPECT_EQ(ports.renew("r", mine, 60s).value(), renew_reply::lost);  // B6
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::lost);   // B5
  EXPECT_EQ(server.cli("GET r"), "theirs");
  EXPECT_GT(std::stol(server.cli("TTL r")), 3300);
}

TEST_F(plain_dialect, AKeyWithoutTtlIsBusyForAnUnknownTimeUntilItIsForced) {
  redis_ports ports(url());
  server.cli("SET r theirs");
  EXPECT_EQ(busy_of(ports.acquire("r", mine)).remaining, 0ms);
  EXPECT_EQ(ports
                .get<release_reply>(
                    [&](auto h) { ports.leases().force_release(resource("r"), std::move(h)); })
                .value(),
            release_reply::released);
  grant_of(ports.acquire("r", mine));
}

// B7: the answer to a retry is the same grant, and says how much of it is left.
TEST_F(plain_dialect, AskedAgainTheOwnersOwnKeyIsItsGrantAndIsNotProlonged) {
  redis_ports ports(url());
  EXPECT_FALSE(grant_of(ports.acquire("r", mine, 5s)).validity.has_value());
  auto const before = herdlock::clock::now();
  auto const again = grant_of(ports.acquire("r", mine, 60s));
  ASSERT_TRUE(again.validity.has_value());
  EXPECT_GE(again.validity->since, before);
  EXPECT_LE(again.validity->since, herdlock::clock::now());
  EXPECT_GT(again.validity->ttl, 0ms);
  EXPECT_LE(again.validity->ttl, 5s);
  EXPECT_LE(std::stol(server.cli("PTTL r")), 5000);
  EXPECT_TRUE(std::holds_alternative<busy>(ports.acquire("r", other).value()));
}

TEST_F(plain_dialect, AKeyOfAnotherTypeIsNamedAndNotTouched) {
  redis_ports ports(url());
  server.cli("RPUSH r a b");
  auto const forced = ports.get<release_reply>(
      [&](auto h) { ports.leases().force_release(resource("r"), std::move(h)); });
  for (auto const& why : {ports.acquire("r", mine).error(), ports.renew("r", mine, 30s).error(),
                          ports.release("r", mine).error(), forced.error()}) {
    EXPECT_EQ(why, errc::wrong_type);
    EXPECT_NE(why.message.find("'r'"), std::string::npos) << why.message;
  }
  EXPECT_EQ(server.cli("LLEN r"), "2");
}

TEST_F(plain_dialect, SurvivesScriptFlush) {
  redis_ports ports(url());
  grant_of(ports.acquire("r", mine));
  server.cli("SCRIPT FLUSH");
  EXPECT_EQ(ports.renew("r", mine, 30s).value(), renew_reply::renewed);
  server.cli("SCRIPT FLUSH");
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
}

TEST_F(plain_dialect, WorksOverTlsAndUnixSockets) {
  redis_server secured({.tls = redis_tls::on, .unix_socket = redis_unix_socket::on});
  redis_ports over_tls(secured.tls_url() + "&dialect=plain");
  redis_ports over_unix(secured.unix_url() + "?dialect=plain");
  grant_of(over_tls.acquire("r", mine));
  EXPECT_TRUE(std::holds_alternative<busy>(over_unix.acquire("r", other).value()));
  EXPECT_EQ(over_tls.release("r", mine).value(), release_reply::released);
  grant_of(over_unix.acquire("r", other));
  EXPECT_FALSE(over_unix.ports().traits.across_hosts);
}

// The reply was lost: whether granted or not, asking again by the same owner gets it, once.
TEST_F(plain_dialect, ALostReplyLeavesNoGhost) {
  relay between(server.port());
  redis_ports ports(relay_url(between, "?dialect=plain"));
  grant_of(ports.acquire("warm", mine));
  between.cut_after_bytes(direction::to_client, 0);
  auto const lost = ports.acquire("r", mine);
  ASSERT_TRUE(lost.has_error());
  EXPECT_EQ(server.cli("GET r"), mine.str());
  grant_of(ports.acquire("r", mine));
  EXPECT_EQ(ports.release("r", mine).value(), release_reply::released);
  EXPECT_EQ(server.cli("EXISTS r"), "0");
}

TEST_F(plain_dialect, SaysWhatItDoesNotPromise) {
  redis_ports ports(url());
  EXPECT_FALSE(ports.ports().traits.fences);
  EXPECT_FALSE(ports.ports().traits.queues);
  EXPECT_FALSE(ports.ports().traits.pushes_fills);
  EXPECT_EQ(ports.ports().values, nullptr);
}

TEST_F(plain_dialect, ACacheOverItIsRefusedWithTheWayOut) {
  for (char const* dialect : {"plain", "getset"}) {
    auto store = open_store(server.url() + "?dialect=" + dialect);
    try {
      cache<std::string> values(store);
      FAIL() << "a cache over leases alone";
    } catch (error const& e) {
      EXPECT_NE(std::string(e.what()).find("keeps leases only"), std::string::npos) << e.what();
      EXPECT_NE(std::string(e.what()).find(dialect), std::string::npos) << e.what();
    }
  }
}

TEST_F(plain_dialect, BadOptionsAreNamedAndTheirValuesAreNotShown) {
  auto const refusal = [](std::string const& options) {
    asio::io_context io;
    auto opened = open_redis(store_url::parse("redis://h?" + options).value(), io.get_executor());
    return opened.has_error() ? opened.error() : failure{};
  };
  for (char const* options : {"dialect=s3cret", "dialect=", "dialect=Plain", "prefix=s3cret",
                              "dialect=herdlock&prefix=x", "dialect=plain&skew=1s", "skew=1s",
                              "dialect=getset&skew=61s", "dialect=getset&skew=soon"}) {
    auto const why = refusal(options);
    EXPECT_EQ(why, errc::invalid_url) << options;
    EXPECT_EQ(why.message.find("s3cret"), std::string::npos) << why.message;
  }
  EXPECT_NE(refusal("dialect=x").message.find("plain or getset"), std::string::npos);
  EXPECT_EQ(refusal("dialect=plain&prefix=" + std::string(512, 'p')).code, std::error_code());
  EXPECT_EQ(refusal("dialect=plain&prefix=" + std::string(513, 'p')), errc::invalid_url);
  EXPECT_EQ(refusal("dialect=getset&skew=60s&prefix=x").code, std::error_code());
}

TEST_F(plain_dialect, TheDialectIsShownAndThePrefixIsNot) {
  auto const shown = store_url::parse("redis://h?dialect=getset&prefix=s3cret&skew=2s").value();
  EXPECT_EQ(shown.redacted(), "redis://h?dialect=getset&prefix=***&skew=2s");
  EXPECT_EQ(store_url::parse("redis://h?dialect=s3cret").value().redacted(),
            "redis://h?dialect=***");
}

}  // namespace
}  // namespace herdlock_test
