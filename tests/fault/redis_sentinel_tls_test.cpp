// Sentinels and servers that speak TLS to each other and to us: rediss+sentinel://.
#include <support/redis_sentinels.hpp>

#include "owners.hpp"
#include "redis_ports.hpp"
#include "stores/common/tls_source.hpp"
#include "stores/redis/client/transport.hpp"

namespace herdlock_test {
namespace {

std::string replaced(std::string text, std::string const& old, std::string const& by) {
  return text.replace(text.find(old), old.size(), by);
}

// Only TLS ports are ever named, by the URL and by the sentinels, so nothing can pass in the clear.
TEST(RedisSentinelTls, AFailoverIsFollowedWithCertificatesAndPasswordsOnBothSides) {
  redis_sentinels group({.password = "opensesame",
                         .sentinel_password = "guardsesame",
                         .tls = redis_tls::on_with_client_certificates});
  redis_ports ports(group.url() + "&timeout=10s");
  auto const first = fence_of(ports.acquire("r", mine));
  EXPECT_EQ(group.master().cli("EXISTS r"), "1");
  group.await_replicas(2);
  EXPECT_EQ(group.master().cli("WAIT 2 5000"), "2");
  auto& old = group.master();
  old.kill();
  group.await_master_other_than(old.public_port());
  std::string last;
  EXPECT_TRUE(ports.wait_for([&] {
    auto const reply = ports.acquire("r", other);
    last = reply.has_error() ? reply.error().message : "granted";
    return reply.has_value() && std::holds_alternative<busy>(*reply);
  })) << last;
  EXPECT_EQ(ports.renew("r", mine, 30s).value(), renew_reply::renewed);
  EXPECT_TRUE(ports.release("r", mine).has_value());
  EXPECT_GT(fence_of(ports.acquire("r", other)), first);
}

TEST(RedisSentinelTls, SentinelsOfAnotherAuthorityAreNamedAtOnce) {
  redis_sentinels group({.tls = redis_tls::on});
  std::string const right = group.tls().authority.string();
  std::string const url =
      replaced(group.url(), right, group.tls().other_authority.string()) + "&timeout=5m";
  std::string const said =
      expect_refused(url, errc::access_denied, "give its authority with cafile");
  for (std::size_t i = 0; i < 3; ++i) {
    auto const place = "127.0.0.1:" + std::to_string(group.sentinel(i).public_port());
    EXPECT_NE(said.find("the certificate of " + place), std::string::npos) << said;
  }
  EXPECT_EQ(said.find("sentinel_password"), std::string::npos) << said;
  redis_ports unchecked(url + "&verify=none");
  EXPECT_GT(fence_of(unchecked.acquire("r", mine)), 0u);
}

// The sentinels are trusted; it is the master that has a certificate for another host.
TEST(RedisSentinelTls, AMasterWhoseCertificateIsForAnotherHostIsNamedAtOnce) {
  redis_sentinels group({.tls = redis_tls::on_with_wrong_name});
  expect_refused(group.url() + "&timeout=5m", errc::access_denied,
                 "the certificate of 127.0.0.1:" + std::to_string(group.master().public_port()));
}

TEST(RedisSentinelTls, WithoutTlsOrAClientCertificateNothingIsGranted) {
  redis_sentinels group({.tls = redis_tls::on_with_client_certificates});
  std::string const url = group.url();
  std::string const bare = url.substr(0, url.find("&cert=")) + "&timeout=2s";
  expect_refused(bare, errc::unavailable, "sentinel 127.0.0.1:");
  std::string const in_the_clear =
      replaced(url.substr(0, url.find('?')), "rediss", "redis") + "?timeout=2s";
  expect_refused(in_the_clear, errc::unavailable, "sentinel 127.0.0.1:");
}

/// What becomes of one connection.
struct tls_attempt final : redis::transport_listener {
  bool ready = false;
  std::optional<failure> why;

  void on_ready(redis::transport&) override { ready = true; }
  void on_ended(redis::transport&, failure told, redis::failure_kind) override {
    why = std::move(told);
  }
  void on_batch(redis::transport&, redis::batch_ptr, failure const*) override {}
};

std::shared_ptr<tls_attempt> connected(redis::settings const& how) {
  asio::io_context io;
  auto made = std::make_shared<tls_attempt>();
  auto const wire = redis::transport::start(io.get_executor(), how, made);
  EXPECT_TRUE(eventually([&] {
    io.run_one_for(5ms);
    return made->ready || made->why;
  }));
  wire->stop();
  io.poll();
  return made;
}

// A replica that is promoted, or a new node, is met first while the servers get the certificates of
// a new authority.
TEST(RedisSentinelTls, AServerThatIsMetFirstDuringARotationIsATroubleThatPasses) {
  redis_server known({.tls = redis_tls::on}), next({.tls = redis_tls::on});
  redis_server misnamed({.tls = redis_tls::on_with_wrong_name, .certificates = known.tls()});
  auto const how = redis::parse_settings(store_url::parse(known.tls_url()).value()).value();
  auto const other = how.at({"127.0.0.1", next.tls_port()});
  auto const first = connected(other);
  ASSERT_TRUE(first->why);
  EXPECT_EQ(first->why->code, errc::access_denied) << first->why->message;
  ASSERT_TRUE(connected(how)->ready);
  auto const later = connected(other);
  ASSERT_TRUE(later->why);
  EXPECT_EQ(later->why->code, errc::unavailable) << later->why->message;
  EXPECT_NE(later->why->message.find("put its authority into cafile"), std::string::npos)
      << later->why->message;
  // No new cafile makes its name right.
  auto const wrong = connected(how.at({"127.0.0.1", misnamed.tls_port()}));
  ASSERT_TRUE(wrong->why);
  EXPECT_EQ(wrong->why->code, errc::access_denied) << wrong->why->message;
}

}  // namespace
}  // namespace herdlock_test
