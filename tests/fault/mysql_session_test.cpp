// The end of a session in the modes whose locks belong to one: it is the loss, at once.
#include <herdlock/herdlock.hpp>

#include "mysql_ports.hpp"
#include "stores/mysql/session_protocol.hpp"

namespace herdlock_test {
namespace {

struct mysql_session_end : testing::TestWithParam<std::string> {
  store_case const kind{.name = "mysql", .url = {}, .open = &open_mysql};
  std::string const url = mysql_url(GetParam());
  std::string const table = "`" + mysql_database(url) + "`.herdlock_" + GetParam() + "_leases";
  resource const stock{"stock:1"};

  static mariadb_server& server() { return mariadb_server::shared(); }
  void kill_session_of(resource const& name) const {
    server().sql("KILL " + server().sql("SELECT session FROM " + table + " WHERE resource = '" +
                                        name.str() + "'"));
  }
  static bool told(lease const& mine) {
    return eventually([&] { return mine.lost_token().stop_requested(); });
  }
};
INSTANTIATE_TEST_SUITE_P(modes, mysql_session_end, testing::Values("row", "named"),
                         [](auto const& one) { return one.param; });

// B1: the server gives the lock to the next in the same moment; the holder knows as soon as it can,
// though nobody waits here and no renewal is due.
TEST_P(mysql_session_end, IsToldLongBeforeARenewalIsDue) {
  auto const store = open_store(url);
  auto const mine = lock(store, stock).try_acquire({.ttl = 1h}).value();
  auto const other = lock(store, "other").try_acquire({.ttl = 1h}).value();
  kill_session_of(stock);
  EXPECT_TRUE(told(mine));
  EXPECT_FALSE(mine.valid());
  EXPECT_NE(mine.lost_reason().message.find("its session in the server has ended"),
            std::string::npos);
  EXPECT_TRUE(other.valid());
  EXPECT_TRUE(lock(store, stock).try_acquire());
}

// A session is watched again behind each statement.
TEST_P(mysql_session_end, IsToldBehindARenewalToo) {
  client c(kind, url);
  std::vector<lease_end> told;
  c.store().leases->on_lease_end([&](lease_end const& what) { told.push_back(what); });
  auto const alice = owner_token::generate();
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  ASSERT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
  kill_session_of(stock);
  ASSERT_TRUE(c.run_until([&] { return !told.empty(); }));
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().owner, alice);
}

TEST_P(mysql_session_end, IsToldWhenTheServerIsKilled) {
  auto const mine = lock(open_store(url), stock).try_acquire({.ttl = 1h}).value();
  server().kill();
  EXPECT_TRUE(told(mine));
  EXPECT_FALSE(mine.valid());
  server().restart();
}

// B1: with a grace longer than the test, so that nothing has to be timed.
TEST_P(mysql_session_end, KeepsTheNextFromTheLockForTheSessionGrace) {
  client a(kind, url + "&session_grace=5m");
  auto const first = as<grant>(a.acquire(stock, owner_token::generate())).fencing;
  kill_session_of(stock);
  client b(kind, url + "&session_grace=5m");
  auto const bobs = b.start_acquire({stock, owner_token::generate(), 1min, 1min});
  auto const row = "SELECT fencing FROM " + table + "_open";
  ASSERT_TRUE(b.run_until([&] { return server().sql(row) != std::to_string(first.value) + "\n"; }));
  EXPECT_FALSE(bobs.done()) << "it has the lock, and waits";
  b.close();  // which is no release: the next one waits, too
  client c(kind, url + "&session_grace=500ms");
  auto const carol = owner_token::generate();
  auto const begun = clock::now();
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, carol)); }));
  EXPECT_GE(as<grant>(c.acquire(stock, carol)).validity.value().since, begun + 500ms);
}

TEST_P(mysql_session_end, ALeaseThatRanOutLeavesTheMarkOfTheSessionGrace) {
  client a(kind, url + "&session_grace=5m");
  ASSERT_TRUE(is<grant>(a.acquire(stock, owner_token::generate(), 500ms)));
  ASSERT_TRUE(a.run_until([&] { return !a.inspect(stock).value(); }));
  EXPECT_EQ(server().sql("SELECT count(*) FROM " + table + "_open"), "1\n");
}

TEST_P(mysql_session_end, CostsNoGraceBehindAReleaseNorForAFreshName) {
  client a(kind, url + "&session_grace=5m"), b(kind, url + "&session_grace=5m");
  auto const alice = owner_token::generate();
  for (auto* const each : {&a, &b, &a}) {
    ASSERT_TRUE(is<grant>(each->acquire(stock, alice)));
    EXPECT_EQ(each->renew(stock, alice).value(), renew_reply::renewed);
    ASSERT_EQ(each->release(stock, alice).value(), release_reply::released);
  }
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  auto const next = a.start_acquire({stock, owner_token::generate(), 1min, 1min});
  ASSERT_EQ(a.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(a.get(next))) << "passed on in its own session";
}

// Its row is slow to go.
TEST_P(mysql_session_end, IsNotWaitedForByAReleaseWhoseMarkCannotBeTaken) {
  client c(kind, url + "&session_grace=5m&timeout=6s");
  auto const alice = owner_token::generate();
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const slow = "`" + mysql_database(url) + "`.slow";
  server().sql("CREATE TRIGGER " + slow + " BEFORE DELETE ON " + table +
               "_open FOR EACH ROW DO SLEEP(10)");
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
}

// There is no such server here: what it says of itself.
TEST(mysql_cluster, IsOneWhoseNodesKeepLocksForThemselves) {
  using mysql::cluster_of;
  using rows = std::vector<mysql::row>;
  mysql::row const group{"group_replication_group_name", "0c6d3e5f-3b1c-11ee-8f3a-0242ac110002"};
  mysql::row const single{"group_replication_single_primary_mode", "ON"};
  mysql::row const multi{"group_replication_single_primary_mode", "OFF"};
  EXPECT_EQ(cluster_of({}), "");
  EXPECT_EQ(cluster_of(rows{{"wsrep_on", "OFF"}}), "");
  EXPECT_EQ(cluster_of(rows{{"wsrep_on", "ON"}}), "a Galera cluster");
  EXPECT_EQ(cluster_of(rows{group, single}), "");
  EXPECT_EQ(cluster_of(rows{group, multi}), "a replication group in multi-primary mode");
  EXPECT_EQ(cluster_of(rows{{"group_replication_group_name", ""}, multi}), "");
  // Percona XtraDB Cluster 8 shows no wsrep_on to all.
  mysql::row const provider{"wsrep_provider", "/usr/lib64/galera4/libgalera_smm.so"};
  EXPECT_EQ(cluster_of(rows{provider}), "a Galera cluster");
  EXPECT_EQ(cluster_of(rows{provider, {"wsrep_on", "OFF"}}), "");
  EXPECT_EQ(cluster_of(rows{{"wsrep_provider", "none"}}), "");
  EXPECT_EQ(cluster_of(rows{{"wsrep_provider", ""}}), "");
}

TEST(mysql_cluster, IsOneServerByItsOwnName) {
  using mysql::identity_of;
  using rows = std::vector<mysql::row>;
  mysql::row const provider{"wsrep_provider", "/usr/lib64/galera4/libgalera_smm.so"};
  mysql::row const cluster{"wsrep_cluster_state_uuid", "6a7c2c4a-0d5e-11ef-9d3a-0242ac110002"};
  mysql::row const joins{"wsrep_cluster_state_uuid", "00000000-0000-0000-0000-000000000000"};
  mysql::row const a{"hostname", "a"}, b{"hostname", "b"};
  EXPECT_NE(identity_of(rows{a}), identity_of(rows{b}));
  EXPECT_EQ(identity_of(rows{a, provider, cluster}), identity_of(rows{b, provider, cluster}));
  EXPECT_NE(identity_of(rows{a, provider, cluster}), "");
  EXPECT_NE(identity_of(rows{a, provider, cluster}), identity_of(rows{a}));
  EXPECT_EQ(identity_of(rows{a, provider, joins}), "") << "nobody knows yet";
  EXPECT_EQ(identity_of(rows{a, provider}), "");
  mysql::row const multi{"group_replication_single_primary_mode", "OFF"};
  mysql::row const one{"group_replication_group_name", "1"},
      two{"group_replication_group_name", "2"};
  EXPECT_EQ(identity_of(rows{a, multi, one}), identity_of(rows{b, multi, one}));
  EXPECT_NE(identity_of(rows{a, multi, one}), identity_of(rows{a, multi, two}));
}

}  // namespace
}  // namespace herdlock_test
