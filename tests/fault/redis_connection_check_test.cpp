// What is found out about a server before it is used, and what is said of it.
#include <boost/asio/steady_timer.hpp>

#include "owners.hpp"
#include "redis_ports.hpp"
#include "redis_wait.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/connection_check.hpp"

namespace herdlock_test {
namespace {

redis::settings settings_of(std::string const& url) {
  return redis::parse_settings(store_url::parse(url).value()).value();
}

redis::reply info_reply(std::string const& text) {
  redis::reply one;
  one.add(redis::reply_kind::text, 0, text);
  return one;
}

bool warns_of(redis_ports const& ports, std::string const& what) {
  for (auto const& text : ports.ports().warnings->list()) {
    if (text.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST(RedisConnectionCheck, AServerOlderThanSixTwoIsRefusedByItsVersion) {
  redis::connection_check check(settings_of("redis://localhost"), nullptr);
  for (auto const* version : {"5.0.14", "6.0.16"}) {
    auto const old = info_reply("# Server\r\nredis_version:" + std::string(version) + "\r\n");
    auto const found = check.verdict_on({&old, 1}, "localhost:6379");
    EXPECT_EQ(found.why, errc::not_supported);
    EXPECT_EQ(found.kind, redis::failure_kind::refused);
    EXPECT_NE(found.why.message.find(version), std::string::npos) << found.why.message;
  }
  for (auto const* version : {"6.2.0", "7.0.15", "10.1.0", "unstable"}) {
    auto const fine = info_reply("redis_version:" + std::string(version) + "\r\nrole:master\r\n");
    EXPECT_FALSE(check.verdict_on({&fine, 1}, "localhost:6379").why.code) << version;
  }
}

TEST(RedisConnectionCheck, AMissingCommandIsNamed) {
  redis_options options;
  options.arguments = {"--rename-command", "EVALSHA", ""};
  redis_server server(options);
  redis_ports ports(server.url());
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::not_supported) << reply.error().message;
  EXPECT_NE(reply.error().message.find("EVALSHA"), std::string::npos) << reply.error().message;
}

// B16: a lease taken from a replica excludes nobody.
TEST(RedisConnectionCheck, AReplicaIsNotUsedAndIsNamed) {
  redis_server master;
  redis_options options;
  options.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())};
  redis_server replica(options);
  redis_ports ports(replica.url() + "?timeout=500ms");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_EQ(reply.error(), errc::unavailable);
  EXPECT_NE(reply.error().message.find("replica"), std::string::npos) << reply.error().message;
  EXPECT_TRUE(ports.look_up("k").has_error()) << "a replica's value may be old";
  // Promoted, it is used without more ado.
  replica.cli("REPLICAOF NO ONE");
  EXPECT_TRUE(ports.wait_for([&] { return ports.acquire("r", mine).has_value(); }));
}

TEST(RedisConnectionCheck, AUserWithoutInfoAndTimeWorksWithAWarning) {
  redis_options options;
  options.users = {"alice on >opensesame ~* &* +@all -info -time"};
  redis_server server(options);
  redis_ports ports("redis://alice:opensesame@127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(ports.put("k", std::string("v")).has_value());
  EXPECT_TRUE(warns_of(ports, "INFO and TIME")) << ports.ports().warnings->list().size();
  EXPECT_FALSE(warns_of(ports, "opensesame"));
}

// Without the server's time a counter would begin at 1, as it did before it was lost.
TEST(RedisConnectionCheck, WithoutTheTimeNothingIsGrantedThatHasNoFencingCounter) {
  redis_options options;
  options.users = {"alice on >opensesame ~* &* +@all -time"};
  redis_server server(options);
  redis_ports ports("redis://alice:opensesame@127.0.0.1:" + std::to_string(server.port()));
  redis_wait waits;
  waits.start(ports, resource("r"), 1min, 30s);
  ASSERT_TRUE(ports.wait_for([&] { return waits.outcome.has_value(); }));
  ASSERT_TRUE(waits.outcome->has_error());
  EXPECT_EQ(waits.outcome->error(), errc::access_denied) << waits.outcome->error().message;
  EXPECT_EQ(server.cli("EXISTS r"), "0") << "a ghost";
  auto const tried = ports.acquire("r", mine);
  ASSERT_TRUE(tried.has_error());
  EXPECT_EQ(tried.error(), errc::access_denied) << tried.error().message;
  EXPECT_EQ(server.cli("EXISTS r"), "0") << "a ghost";
  server.cli("SET {r}:herdlock:fence 1732332855000000");
  EXPECT_GT(fence_of(ports.acquire("r", mine)), 1732332855000000u);
}

TEST(RedisConnectionCheck, AnEvictingPolicyIsAWarningAndTheUsualServerIsNone) {
  redis_server server;
  {
    redis_ports ports(server.url());
    fence_of(ports.acquire("r", mine));
    EXPECT_TRUE(ports.ports().warnings->list().empty()) << ports.ports().warnings->list().front();
  }
  for (auto const* policy : {"allkeys-lru", "volatile-ttl"}) {
    server.cli("CONFIG SET maxmemory-policy " + std::string(policy));
    redis_ports ports(server.url());
    fence_of(ports.acquire("r", mine));
    EXPECT_TRUE(warns_of(ports, policy));
  }
}

TEST(RedisConnectionCheck, FewerReplicasThanAskedForAndNoPersistenceAreWarnings) {
  redis_server server;
  redis_ports ports(server.url() + "?wait_replicas=1&wait_timeout=50ms");
  auto const reply = ports.acquire("r", mine);
  ASSERT_TRUE(reply.has_error());
  EXPECT_TRUE(warns_of(ports, "wait_replicas is 1"));
  EXPECT_TRUE(warns_of(ports, "append-only"));
}

// A server that was restored from elsewhere must not hand out tokens below its clock.
TEST(RedisConnectionCheck, TheFenceFloorIsTheServersTimeAtTheConnection) {
  redis_server server;
  asio::io_context io;
  auto const how = settings_of(server.url());
  auto const plain = std::make_shared<redis::connection>(io.get_executor(), how);
  auto const examined = std::make_shared<redis::connection>(
      io.get_executor(), how, std::make_shared<redis::connection_check>(how, nullptr));
  auto const before = redis::read_time([&] {
    redis::reply time;
    std::istringstream lines(server.cli("TIME"));
    std::string seconds, micros;
    lines >> seconds >> micros;
    time.add(redis::reply_kind::list, 2, "");
    time.add(redis::reply_kind::text, 0, seconds);
    time.add(redis::reply_kind::text, 0, micros);
    return time;
  }());
  plain->open();
  examined->open();
  auto const end = std::chrono::steady_clock::now() + patience;
  while (!(plain->up() && examined->up()) && std::chrono::steady_clock::now() < end) {
    io.run_one_for(20ms);
  }
  EXPECT_EQ(plain->fence_floor(), 1) << "without an examination nothing is known";
  EXPECT_GE(examined->fence_floor(), before.value());
  plain->close();
  examined->close();
  io.run_for(patience);
}

}  // namespace
}  // namespace herdlock_test
