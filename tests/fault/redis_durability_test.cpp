// wait_replicas and quarantine: what does not outlive a failover does not count.
#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <herdlock/herdlock.hpp>
#include <sstream>
#include <support/redis_sentinels.hpp>

#include "owners.hpp"
#include "redis_ports.hpp"

namespace herdlock_test {
namespace {

bool is_quarantined(result<acquire_reply> const& reply) {
  return reply.has_error() && reply.error() == errc::unavailable &&
         reply.error().message.find("quarantine") != std::string::npos;
}

// For how long the server has been known as the master, by its own clock.
std::int64_t known_for_ms(redis_server const& server) {
  std::string id;
  std::int64_t since = 0, seconds = 0, micros = 0;
  std::istringstream(server.cli("GET herdlock:incarnation")) >> id >> since;
  std::istringstream(server.cli("TIME")) >> seconds >> micros;
  return seconds * 1000 + micros / 1000 - since;
}

class RedisDurability : public ::testing::Test {
 protected:
  static redis_sentinels& group() {
    static redis_sentinels one({.down_after = never_down});
    return one;
  }
  void TearDown() override {
    for (auto* replica : group().replicas()) replica->resume();
    group().await_replicas(2);
    group().flush();
  }
  static std::string url(std::string const& options) { return group().url() + "?" + options; }
};

TEST_F(RedisDurability, AGrantThatTheReplicasHaveIsGiven) {
  redis_ports ports(url("wait_replicas=2"));
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
  for (auto* replica : group().replicas()) EXPECT_EQ(replica->cli("GET r"), mine.str());
  auto const again = ports.acquire("r", other);
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_TRUE(std::holds_alternative<busy>(*again));
  auto const renewed = ports.renew("r", mine, 30s);
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
}

TEST_F(RedisDurability, AGrantThatTheReplicasLackIsAnErrorAndIsTakenBack) {
  for (auto* replica : group().replicas()) replica->pause();
  auto const opened = open_store(url("wait_replicas=1&wait_timeout=100ms"));
  lock const where(opened, "r");
  try {
    auto const held = where.try_acquire({.ttl = 1h});
    ADD_FAILURE() << (held ? "granted" : "busy");
  } catch (error const& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::unavailable));
    EXPECT_NE(std::string(why.what()).find("0 of 1 replicas"), std::string::npos) << why.what();
  }
  EXPECT_TRUE(eventually([&] { return group().master().cli("EXISTS r") == "0"; }))
      << "left behind for its ttl of an hour";
}

TEST_F(RedisDurability, ARenewalThatTheReplicasLackDoesNotCount) {
  redis_ports ports(url("wait_replicas=1&wait_timeout=100ms"));
  fence_of(ports.acquire("r", mine));
  for (auto* replica : group().replicas()) replica->pause();
  auto const renewed = ports.renew("r", mine, 30s);
  ASSERT_TRUE(renewed.has_error());
  EXPECT_EQ(renewed.error(), errc::unavailable) << renewed.error().message;
  EXPECT_TRUE(ports.release("r", mine).has_value()) << "a release waits for nobody";
}

// What makes WAIT speak of the grant must not be refused where the renewal was not, nor change what
// the renewal has set.
TEST_F(RedisDurability, ARenewalAtAFullServerIsConfirmedAndKeepsItsTime) {
  redis_ports ports(url("wait_replicas=2"));
  fence_of(ports.acquire("r", mine, 1h));
  group().master().cli("CONFIG SET maxmemory 1");
  auto const renewed = ports.renew("r", mine, 1h);
  group().master().cli("CONFIG SET maxmemory 0");
  ASSERT_TRUE(renewed.has_value()) << renewed.error().message;
  EXPECT_EQ(*renewed, renew_reply::renewed);
  auto const left = std::stoll(group().master().cli("PTTL r"));
  EXPECT_GT(left, 3'600'000 - patience.count());
  EXPECT_LE(left, 3'600'000);
  EXPECT_EQ(group().master().cli("GET r"), mine.str());
}

// Who may only use the locks' own keys may have their grants confirmed.
TEST_F(RedisDurability, ConfirmingNeedsNoKeyBesideTheLease) {
  ASSERT_EQ(group().master().cli("ACL SETUSER app on >secret ~r ~{r}* &* +@all"), "OK");
  auto& master = group().master();
  redis_ports ports("redis://app:secret@127.0.0.1:" + std::to_string(master.port()) +
                    "?wait_replicas=2");
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 0u);
  auto const renewed = ports.renew("r", mine, 30s);
  EXPECT_TRUE(renewed.has_value()) << renewed.error().message;
  master.cli("ACL DELUSER app");
}

// The replicas answer later than we wait: the same owner asks again and gets its grant.
TEST_F(RedisDurability, AWaitThatIsLongEnoughGetsItWhenTheReplicasAreBack) {
  for (auto* replica : group().replicas()) replica->pause();
  redis_ports ports(url("wait_replicas=1&wait_timeout=50ms"));
  EXPECT_TRUE(ports.acquire("r", mine).has_error());
  for (auto* replica : group().replicas()) replica->resume();
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
}

// A blocked WAIT must not stand in the way of anything else.
TEST_F(RedisDurability, OtherCommandsPassWhileAGrantWaitsForReplicas) {
  for (auto* replica : group().replicas()) replica->pause();
  redis_ports ports(url("wait_replicas=1&timeout=20s"));  // waits for 10 s
  std::optional<result<acquire_reply>> outcome;
  ports.start<acquire_reply>(outcome, [&](auto h) {
    ports.leases().acquire({resource("r"), mine, 30s}, std::move(h));
  });
  EXPECT_TRUE(ports.wait_for([&] { return group().master().cli("EXISTS r") == "1"; }));
  EXPECT_TRUE(ports.put("k", std::string("v")).has_value());
  EXPECT_TRUE(ports.release("elsewhere", mine).has_value());
  EXPECT_FALSE(outcome.has_value());
  for (auto* replica : group().replicas()) replica->resume();
  EXPECT_TRUE(ports.wait_for([&] { return outcome.has_value(); }));
  EXPECT_GT(fence_of(*outcome), 0u);
}

TEST_F(RedisDurability, ManyGrantsAreConfirmedTogether) {
  redis_ports ports(url("wait_replicas=1&timeout=20s"));
  fence_of(ports.acquire("warm", mine));
  constexpr std::size_t count = 500;
  std::vector<std::optional<result<acquire_reply>>> outcomes(count);
  for (std::size_t i = 0; i < count; ++i) {
    ports.start<acquire_reply>(outcomes[i], [&](auto h) {
      ports.leases().acquire({resource("r" + std::to_string(i)), mine, 30s}, std::move(h));
    });
  }
  EXPECT_TRUE(ports.wait_for([&] {
    return std::all_of(outcomes.begin(), outcomes.end(), [](auto const& o) { return o; });
  }));
  for (auto const& one : outcomes) fence_of(*one);
}

TEST_F(RedisDurability, CancellingWhileReplicasAreWaitedForEndsTheCall) {
  for (auto* replica : group().replicas()) replica->pause();
  redis_ports ports(url("wait_replicas=1&timeout=20s"));
  asio::cancellation_signal signal;
  std::optional<result<acquire_reply>> outcome;
  ports.leases().acquire({resource("r"), mine, 30s},
                         asio::bind_cancellation_slot(signal.slot(), [&](auto r) {
                           EXPECT_FALSE(outcome.has_value());
                           outcome.emplace(std::move(r));
                         }));
  EXPECT_TRUE(ports.wait_for([&] { return group().master().cli("EXISTS r") == "1"; }));
  signal.emit(asio::cancellation_type::all);
  EXPECT_TRUE(ports.wait_for([&] { return outcome.has_value(); }, 5s));
  EXPECT_EQ(outcome->error(), errc::canceled);
}

// B16: the server that comes back empty does not know who holds what.
TEST(RedisQuarantine, AServerGrantsNothingBeforeItsQuarantineIsOver) {
  redis_server server;
  constexpr auto options = "?quarantine=on&quarantine_ttl=1s";
  redis_ports ports(server.url() + options);
  for (int start = 0; start < 2; ++start) {
    EXPECT_TRUE(ports.wait_for([&] { return is_quarantined(ports.acquire("r", mine, 1s)); }));
    EXPECT_TRUE(ports.release("r", mine).has_value());
    // A client that comes later agrees: it is the server's key that counts.
    redis_ports second(server.url() + options);
    EXPECT_TRUE(is_quarantined(second.acquire("r", other, 1s)));
    EXPECT_TRUE(second.release("r", other).has_value());
    EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine, 1s).has_value(); }));
    EXPECT_GE(known_for_ms(server), 1000);
    if (start == 0) server.restart();
  }
}

TEST(RedisQuarantine, NoLeaseMayBeLongerThanTheQuarantine) {
  redis_server server;
  redis_ports ports(server.url() + "?quarantine=on&quarantine_ttl=100ms");
  EXPECT_EQ(ports.acquire("r", mine, 101ms).error(), errc::invalid_ttl);
  EXPECT_EQ(ports.renew("r", mine, 101ms).error(), errc::invalid_ttl);
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine, 100ms).has_value(); }));
}

TEST(RedisQuarantine, AfterAFailoverRenewalsGoOnAndGrantsWait) {
  redis_sentinels group;
  redis_ports ports(group.url() + "?quarantine=on&quarantine_ttl=12s&wait_replicas=1");
  // As long as a busy machine takes for the failover.
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine, 12s).has_value(); }));
  group.failover();
  EXPECT_TRUE(ports.wait_for([&] {
    auto const renewed = ports.renew("r", mine, 12s);
    return renewed.has_value() && *renewed == renew_reply::renewed;
  }));
  EXPECT_TRUE(ports.wait_for([&] { return is_quarantined(ports.acquire("free", other, 12s)); }));
  EXPECT_TRUE(ports.release("free", other).has_value());
  EXPECT_TRUE(ports.renew("r", mine, 12s).has_value());
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("free", other, 12s).has_value(); }));
  EXPECT_GE(known_for_ms(group.master()), 12'000);
}

}  // namespace
}  // namespace herdlock_test
