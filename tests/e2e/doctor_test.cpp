// `herdlock doctor`: healthy stores have no findings; each misconfiguration is made for real, and
// found with the right severity.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <herdlock/examination.hpp>
#include <nlohmann/json.hpp>
#include <support/free_port.hpp>
#include <support/redis_cluster.hpp>
#include <support/redis_nodes.hpp>
#include <support/redis_sentinels.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>

#include "doctor_report.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;

redis_options with(words arguments) { return {.arguments = std::move(arguments)}; }

TEST(DoctorRedis, FindsNothingOnAHealthyServer) {
  redis_server server(with({"--appendonly", "yes"}));
  auto const report = examined(server.url());
  EXPECT_EQ(report.findings(), words{}) << report.text;
  EXPECT_EQ(report.code, 0);
  EXPECT_GE(report.passed().size(), 12u) << report.text;
  EXPECT_EQ(report.skipped(), 0u) << report.text;
}

TEST(DoctorRedis, SaysThatACacheTakesLocksOfADialectForValues) {
  redis_server server(with({"--appendonly", "yes"}));
  auto const report = examined(server.url() + "?dialect=plain&prefix=locks:");
  EXPECT_EQ(report.skipped(), 1u) << report.text;
  EXPECT_NE(report.text.find("keep the prefixes apart"), std::string::npos) << report.text;
}

TEST(DoctorRedis, FindsEvictionWithTheSeverityThatItHas) {
  redis_server limited(
      with({"--appendonly", "yes", "--maxmemory-policy", "allkeys-lru", "--maxmemory", "100mb"}));
  auto const worse = examined(limited.url());
  EXPECT_EQ(worse.findings(), words{"error redis.eviction"}) << worse.text;
  EXPECT_EQ(worse.code, 2);
  EXPECT_EQ(worse.text.find("it has evicted"), std::string::npos) << worse.text;
  ASSERT_EQ(limited.cli("CONFIG SET maxmemory 4mb"), "OK");
  for (int i = 0; limited.cli("INFO stats").find("evicted_keys:0") != std::string::npos; ++i) {
    limited.command({"SET", "k" + std::to_string(i), std::string(100'000, 'x')});
  }
  auto const evicting = examined(limited.url());
  EXPECT_NE(evicting.text.find("it has evicted"), std::string::npos) << evicting.text;
  redis_server unlimited(with({"--appendonly", "yes", "--maxmemory-policy", "volatile-ttl"}));
  auto const better = examined(unlimited.url());
  EXPECT_EQ(better.findings(), words{"warning redis.eviction"}) << better.text;
  EXPECT_EQ(better.code, 1);
}

TEST(DoctorRedis, FindsAServerThatForgetsUnlessItIsQuarantined) {
  auto& server = redis_server::shared();
  EXPECT_EQ(examined(server.url()).findings(), words{"warning redis.persistence"});
  auto const told = run_herdlock({"doctor", "--store", server.url()}).out;
  EXPECT_NE(told.find("\n1 finding, "), std::string::npos) << told;
}

TEST(DoctorRedis, FindsMissingReplicas) {
  redis_server server(with({"--appendonly", "yes"}));
  auto const report = examined(server.url() + "?wait_replicas=1&timeout=300ms");
  EXPECT_TRUE(report.has("error redis.wait_replicas")) << report.text;
  EXPECT_EQ(report.code, 2);
}

TEST(DoctorRedis, FindsAReplica) {
  redis_server server;
  server.cli("REPLICAOF 127.0.0.1 1");
  auto const report = examined(server.url() + "?timeout=300ms");
  EXPECT_TRUE(report.has("error redis.role")) << report.text;
}

TEST(DoctorRedis, FindsAReplicaThatIsNotInStep) {
  redis_server master(with({"--appendonly", "yes", "--repl-diskless-sync-delay", "1000"}));
  redis_server replica(with({"--replicaof", "127.0.0.1 " + std::to_string(master.port())}));
  ASSERT_TRUE(eventually([&] {
    return master.cli("INFO replication").find("state=wait_bgsave") != std::string::npos;
  }));
  EXPECT_EQ(examined(master.url()).findings(), words{"warning redis.replicas"});
}

TEST(DoctorRedis, FindsMissingRights) {
  redis_server server(
      {.users = {"alice on >pw ~* &* +@all -publish -zadd -rename -hset -pubsub|numsub"},
       .arguments = {"--appendonly", "yes"}});
  auto const report = examined("redis://alice:pw@127.0.0.1:" + std::to_string(server.port()));
  EXPECT_TRUE(report.has("error redis.rights")) << report.text;
  EXPECT_NE(report.text.find("RENAME HSET ZADD PUBLISH"), std::string::npos) << report.text;
  EXPECT_TRUE(report.has("warning redis.channels")) << report.text;
}

TEST(DoctorRedis, FindsThatHotKeysCannotBeKept) {
  redis_server server({.users = {"alice on >pw ~* &* +@all -client|tracking",
                                 "bob on >pw ~* &* +@all -client|caching"},
                       .arguments = {"--appendonly", "yes"}});
  for (std::string const user : {"alice", "bob"}) {
    auto const report =
        examined("redis://" + user + ":pw@127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(report.findings(), words{"warning redis.tracking"}) << report.text;
    EXPECT_NE(report.text.find(user + " +client|tracking +client|caching"), std::string::npos);
  }
}

TEST(DoctorRedis, FindsNoServerAtAll) {
  auto const report =
      examined("redis://:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "?timeout=300ms");
  EXPECT_EQ(report.findings(), (words{"error redis.reachable", "error store.usable"}))
      << report.text;
  EXPECT_EQ(report.text.find("s3cret"), std::string::npos) << report.text;
}

// They have just been started, so they are told to grant at once: that is a weakness.
TEST(DoctorRedlock, FindsNothingElseOnHealthyNodes) {
  redis_nodes nodes(3, with({"--appendonly", "yes"}));
  auto const report = examined(nodes.url());
  EXPECT_EQ(report.findings(), words{"warning redlock.restart_delay"}) << report.text;
}

TEST(DoctorRedlock, FindsOneServerUnderTwoNames) {
  redis_nodes nodes(2, with({"--appendonly", "yes"}));
  auto const port = std::to_string(nodes[0].port());
  auto const other = std::to_string(nodes[1].port());
  auto const report = examined("redlock://127.0.0.1:" + port + ",localhost:" + port +
                               ",127.0.0.1:" + other + ",localhost:" + other);
  EXPECT_TRUE(report.has("error redlock.distinct")) << report.text;
  EXPECT_TRUE(report.has("warning redlock.odd")) << report.text;
}

// As the page sets it up: without append-only files, since restarted nodes wait. The probe's lease
// is no longer than the delay allows.
TEST(DoctorRedlock, FindsNothingWhereRestartedNodesWait) {
  redis_nodes nodes(3);
  auto const ports = nodes.ports();
  std::string url = "redlock://";
  for (auto const port : ports) url += "127.0.0.1:" + std::to_string(port) + ",";
  url.back() = '?';
  url += "restart_delay=2s";
  auto const silent = [&] { return examined(url).findings().empty(); };
  EXPECT_TRUE(eventually(silent)) << examined(url).text;
}

TEST(DoctorRedis, TakesNoLongerLeaseThanTheStoreAllows) {
  redis_server server;
  auto const url = server.url() + "?quarantine=on&quarantine_ttl=2s";
  auto const usable = [&] { return !examined(url).has("error store.usable"); };
  EXPECT_TRUE(eventually(usable)) << examined(url).text;
}

TEST(DoctorRedlock, FindsNodesThatAreMissing) {
  redis_nodes nodes(3, with({"--appendonly", "yes"}));
  nodes[2].kill();
  auto const two = examined(nodes.url());
  EXPECT_TRUE(two.has("warning redlock.nodes")) << two.text;
  EXPECT_TRUE(two.has("warning redlock.restart_delay")) << two.text;
  nodes[1].kill();
  auto const one = examined(nodes.url());
  EXPECT_TRUE(one.has("error redlock.nodes")) << one.text;
}

TEST(DoctorCluster, FindsALostMajority) {
  redis_cluster cluster;
  auto const healthy = examined(cluster.url());
  EXPECT_EQ(healthy.findings(), words(3, "warning redis.persistence")) << healthy.text;
  cluster.node(1).kill();
  cluster.node(2).kill();
  ASSERT_TRUE(eventually([&] {
    return cluster.node(0).cli("CLUSTER INFO").find("cluster_state:fail") != std::string::npos;
  }));
  auto const report = examined(cluster.url() + "?timeout=500ms");
  EXPECT_TRUE(report.has("error cluster.state")) << report.text;
  EXPECT_TRUE(report.has("warning cluster.nodes")) << report.text;
}

TEST(DoctorSentinel, FindsAMissingMajorityOfSentinels) {
  redis_sentinels all({.arguments = {"--appendonly", "yes"}});
  all.await_replicas(2);
  auto const healthy = examined(all.url());
  EXPECT_EQ(healthy.findings(), words{}) << healthy.text;
  all.sentinel(0).kill();
  all.sentinel(1).kill();
  auto const report = examined(all.url());
  EXPECT_TRUE(report.has("error sentinel.quorum")) << report.text;
}

// ---- SQLite

class DoctorSqlite : public ::testing::Test {
 protected:
  std::string file() const { return (folder_ / "s.db").string(); }
  temp_dir folder_;
};

TEST_F(DoctorSqlite, FindsNothingOnALocalFile) {
  auto const report = examined("sqlite:" + file());
  EXPECT_EQ(report.findings(), words{}) << report.text;
  EXPECT_EQ(report.code, 0);
}

TEST_F(DoctorSqlite, FindsAFolderThatWillNotDo) {
  auto const report = examined("sqlite:/proc/nowhere/s.db");
  EXPECT_TRUE(report.has("error sqlite.folder")) << report.text;
}

TEST_F(DoctorSqlite, FindsAnotherJournal) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
  sqlite3_exec(db, "PRAGMA journal_mode=DELETE; CREATE TABLE t(x)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  auto const seen = herdlock::examine_store("sqlite:" + file());
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->findings.size(), 1u);
  EXPECT_EQ(seen->findings[0].check, "sqlite.journal");
}

TEST_F(DoctorSqlite, FindsAFileThatIsNoDatabase) {
  std::ofstream(file()) << std::string(5000, 'x');
  auto const report = examined("sqlite:" + file());
  EXPECT_EQ(report.code, 2) << report.text;
  EXPECT_TRUE(report.has("error sqlite.database")) << report.text;
}

// ---- all

TEST(Doctor, SaysThatMemoryIsForOneProcess) {
  auto const report = examined("memory:");
  EXPECT_EQ(report.findings(), words{"warning memory.scope"});
  EXPECT_EQ(report.code, 1);
}

TEST(Doctor, TellsPeopleWhatFollowsAndWhatToDo) {
  auto const told = run_herdlock({"doctor", "--store", "memory:"});
  EXPECT_EQ(told.code, 1);
  for (char const* part : {"warning: memory.scope", "found", "consequence", "fix", "passed"}) {
    EXPECT_NE(told.out.find(part), std::string::npos) << part << told.out;
  }
}

TEST(Doctor, RefusesUrlsThatMeanNothing) {
  for (char const* url : {"gopher://x", "redis://h?nonsense=1", "sqlite:", "etcd://h?nonsense=1",
                          "zk://h?nonsense=1", "mysql://h", "postgres://h"}) {
    auto const refused = run_herdlock({"doctor", "--store", url});
    EXPECT_EQ(refused.code, 64) << url << refused.err;
    EXPECT_EQ(lines_of(refused.err).size(), 1u) << url << refused.err;
  }
}

}  // namespace
