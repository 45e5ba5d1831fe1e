// A store whose connection comes up anew looks at what it holds at once: a holder does not work
// beside the next one until its planned renewal, which these tests' ttl of an hour puts 20 minutes
// off.
#include <herdlock/herdlock.hpp>

#include "redlock_nodes.hpp"
#include "support/redis_cluster.hpp"
#include "support/redis_sentinels.hpp"

namespace herdlock_test {
namespace {

// What is held is cut to ten minutes behind the holder's back: only a renewal makes it longer.
constexpr auto cut_to = "600000";

void cut_short(redis_server& at, std::string const& name) {
  ASSERT_EQ(at.command({"PEXPIRE", name, cut_to}), "1");
}
bool is_renewed(redis_server& at, std::string const& name) {
  return std::stol(at.command({"PTTL", name})) > std::stol(cut_to);
}

TEST(redis_new_connection, AServerThatForgotIsTheLossInEachDialect) {
  redis_server server;
  for (std::string const options : {"", "?dialect=plain", "?dialect=getset"}) {
    SCOPED_TRACE(options);
    auto const held = lock(open_store(server.url() + options), "r").try_acquire({.ttl = 1h});
    ASSERT_TRUE(held);
    server.kill();
    server.restart();
    EXPECT_TRUE(eventually([&] { return !held->valid(); }));
    EXPECT_EQ(held->lost_reason(), errc::lost);
  }
}

TEST(redis_new_connection, AServerThatStillHasItChangesNothing) {
  redis_server server;
  relay through(server.port());
  auto const held = lock(open_store(relay_url(through)), "r").try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  cut_short(server, "r");
  through.cut_all();
  EXPECT_TRUE(eventually([&] { return is_renewed(server, "r"); }));
  EXPECT_TRUE(held->valid());
}

// With a ttl of an hour a renewal that failed is tried again after 19 to 56 s.
TEST(redis_new_connection, AServerThatIsNotReadyYetIsAskedAgainSoon) {
  redis_server server;
  relay through(server.port());
  auto const held = lock(open_store(relay_url(through)), "r").try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  cut_short(server, "r");
  server.cli("CONFIG SET min-replicas-to-write 1");
  through.cut_all();
  ASSERT_TRUE(eventually(
      [&] { return server.cli("INFO errorstats").find("NOREPLICAS") != std::string::npos; }));
  EXPECT_FALSE(is_renewed(server, "r"));
  server.cli("CONFIG SET min-replicas-to-write 0");
  EXPECT_TRUE(eventually(15s, [&] { return is_renewed(server, "r"); }));
  EXPECT_TRUE(held->valid());
}

// What another program did to the lease while nobody was connected.
TEST(redis_new_connection, ALeaseThatWasTakenAwayMeanwhileIsLost) {
  redis_server server;
  relay through(server.port());
  store const opened = open_store(relay_url(through));
  auto const kept = lock(opened, "kept").try_acquire({.ttl = 1h});
  auto const taken = lock(opened, "taken").try_acquire({.ttl = 1h});
  ASSERT_TRUE(kept && taken);
  server.command({"SET", "taken", "somebody else"});
  through.cut_all();
  EXPECT_TRUE(eventually([&] { return !taken->valid(); }));
  EXPECT_TRUE(kept->valid());
}

TEST_F(redlock, NodesThatAllForgotAreTheLoss) {
  // Within a restart_delay nobody else is granted it, and what they say is no vote.
  auto const url = redis_nodes::url_of(nodes.ports(), "restart_delay=0");
  auto const held = lock(open_store(url), "r").try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].kill();
    nodes[i].restart();
  }
  EXPECT_TRUE(eventually([&] { return !held->valid(); }));
}

TEST(RedisSentinelNewConnection, TheNextMasterIsAskedForWhatIsHeld) {
  redis_sentinels group({.down_after = never_down});
  auto const held = lock(open_store(group.url()), "r").try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  cut_short(group.master(), "r");
  ASSERT_TRUE(eventually([&] {
    return std::ranges::all_of(group.replicas(), [](redis_server* one) {
      return std::stol(one->command({"PTTL", "r"})) <= std::stol(cut_to);
    });
  }));
  group.failover();
  EXPECT_TRUE(eventually([&] { return is_renewed(group.master(), "r"); }));
  EXPECT_TRUE(held->valid());
}

TEST(RedisClusterNewConnection, ANodeThatForgotIsTheLoss) {
  redis_cluster cluster;
  store const opened = open_store(cluster.url());
  auto const there = lock(opened, cluster.name_at(1)).try_acquire({.ttl = 1h});
  auto const elsewhere = lock(opened, cluster.name_at(0)).try_acquire({.ttl = 1h});
  ASSERT_TRUE(there && elsewhere);
  cluster.node(1).kill();
  cluster.node(1).restart();
  EXPECT_TRUE(eventually([&] { return !there->valid(); }));
  EXPECT_TRUE(elsewhere->valid());
}

// Nothing but the map says that another node serves the slot now: no command is sent there.
TEST(RedisClusterNewConnection, TheHeirOfAMasterIsAskedForWhatIsHeld) {
  redis_cluster cluster({.masters = 3, .replicas = 1});
  auto const name = cluster.name_at(2);
  auto const held = lock(open_store(cluster.url()), name).try_acquire({.ttl = 1h});
  ASSERT_TRUE(held);
  cut_short(cluster.node(2), name);
  auto const offset = [&](std::size_t i, std::string const& field) {
    auto const told = cluster.node(i).cli("INFO replication");
    auto const at = told.find(field + ":");
    return at == told.npos ? -1L : std::stol(told.substr(at + field.size() + 1));
  };
  auto const written = offset(2, "master_repl_offset");
  ASSERT_TRUE(eventually([&] { return offset(3, "slave_repl_offset") >= written; }));
  cluster.fail_over();
  EXPECT_TRUE(eventually([&] { return is_renewed(cluster.node(3), name); }));
  EXPECT_TRUE(held->valid());
}

}  // namespace
}  // namespace herdlock_test
