// `herdlock doctor` on MariaDB, PostgreSQL, ZooKeeper and etcd.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <herdlock/examination.hpp>
#include <support/etcd_server.hpp>
#include <support/free_port.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>
#include <support/temp_dir.hpp>
#include <support/zookeeper_server.hpp>

#include "doctor_report.hpp"

namespace {

using namespace herdlock_test;
using words = std::vector<std::string>;

// ---- MariaDB

TEST(DoctorMysql, FindsNothingOnAHealthyServer) {
  mariadb_server server({"--innodb-flush-log-at-trx-commit=1"});
  for (char const* mode : {"table", "row", "named"}) {
    auto const report = examined(server.url("locks") + "?mode=" + mode);
    EXPECT_EQ(report.findings(), words{}) << mode << report.text;
  }
}

TEST(DoctorMysql, FindsWhatWeakensLocks) {
  mariadb_server server({"--innodb-rollback-on-timeout=ON", "--wait-timeout=30"});
  auto const row = examined(server.url("locks") + "?mode=row");
  for (char const* part : {"warning mysql.durability", "warning mysql.rollback_on_timeout",
                           "warning mysql.wait_timeout"}) {
    EXPECT_TRUE(row.has(part)) << part << row.text;
  }
  EXPECT_EQ(row.code, 1);
  server.sql("SET GLOBAL read_only = ON");
  EXPECT_TRUE(examined(server.url("locks")).has("error mysql.read_only"));
}

TEST(DoctorMysql, FindsMissingRightsAndNoServer) {
  auto& server = mariadb_server::shared();
  auto const url = server.url("rights");
  ASSERT_EQ(examined(url).code, 1) << "makes the table";
  server.sql(
      "CREATE OR REPLACE USER poor@'%' IDENTIFIED BY 's3cret';"
      "GRANT SELECT ON rights.* TO poor@'%'");
  auto const poor =
      examined("mysql://poor:s3cret@127.0.0.1:" + std::to_string(server.port()) + "/rights");
  EXPECT_TRUE(poor.has("error mysql.rights")) << poor.text;
  EXPECT_TRUE(poor.has("error store.usable")) << poor.text;
  EXPECT_EQ(poor.text.find("s3cret"), std::string::npos) << poor.text;
  auto const gone =
      examined("mysql://u:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "/d?timeout=1s");
  EXPECT_TRUE(gone.has("error mysql.reachable")) << gone.text;
  EXPECT_EQ(gone.text.find("s3cret"), std::string::npos) << gone.text;
}

// ---- PostgreSQL

std::string as(std::string url, std::string const& user) {
  return url.replace(url.find("postgres@"), 9, user + "@");
}

TEST(DoctorPostgres, FindsNothingOnAHealthyServer) {
  auto const report = examined(postgres_server::shared().fresh_url() + "&mode=advisory");
  EXPECT_EQ(report.findings(), words{}) << report.text;
  EXPECT_EQ(report.code, 0);
  EXPECT_GE(report.passed().size(), 12u) << report.text;
}

// The tests' server is one that would lose data.
TEST(DoctorPostgres, FindsWhatACrashWouldForget) {
  auto& server = postgres_server::shared();
  auto const url = server.fresh_url();
  EXPECT_EQ(examined(url).findings(), words{"warning postgres.fsync"});
  server.sql(url,
             "CREATE ROLE hasty LOGIN SUPERUSER; ALTER ROLE hasty SET synchronous_commit=off;"
             "ALTER ROLE hasty SET idle_session_timeout = '1min'");
  EXPECT_EQ(examined(as(url, "hasty")).findings(),
            (words{"warning postgres.synchronous_commit", "warning postgres.fsync"}));
  EXPECT_EQ(examined(as(url, "hasty") + "&mode=advisory").findings(),
            words{"warning postgres.idle_timeout"});
}

TEST(DoctorPostgres, FindsMissingRights) {
  auto& server = postgres_server::shared();
  auto const url = server.fresh_url();
  server.sql(url,
             "CREATE ROLE poor LOGIN; CREATE ROLE reader LOGIN;"
             "ALTER ROLE reader SET default_transaction_read_only = on");
  EXPECT_TRUE(examined(as(url, "poor")).has("error postgres.rights")) << "cannot make the table";
  EXPECT_EQ(examined(url).code, 1) << "makes it";
  auto const poor = examined(as(url, "poor"));
  EXPECT_TRUE(poor.has("error postgres.rights")) << poor.text;
  EXPECT_NE(poor.text.find("SELECT INSERT"), std::string::npos) << poor.text;
  EXPECT_TRUE(examined(as(url, "reader")).has("error postgres.read_only"));
}

// Everything works without them until the server has crashed.
TEST(DoctorPostgres, FindsRightsThatAreMissedAfterACrashOnly) {
  auto& server = postgres_server::shared();
  auto const url = server.fresh_url();
  server.sql(url, "CREATE ROLE careful LOGIN");
  for (std::string const mode : {"&mode=row", "&mode=advisory"}) {
    server.sql(url, "REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM careful");
    auto const owner = examined(url + mode);  // makes the tables
    EXPECT_FALSE(owner.has("error postgres.rights")) << owner.text;
    server.sql(url,
               "GRANT ALL ON ALL TABLES IN SCHEMA public TO careful;"
               "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO careful");
    auto const some = examined(as(url, "careful") + mode);
    EXPECT_TRUE(some.has("error postgres.rights")) << some.text;
    EXPECT_NE(some.text.find("UPDATE"), std::string::npos) << some.text;
    server.sql(url, "GRANT UPDATE ON ALL SEQUENCES IN SCHEMA public TO careful");
    auto const all = examined(as(url, "careful") + mode);
    EXPECT_FALSE(all.has("error postgres.rights")) << all.text;
  }
}

TEST(DoctorPostgres, FindsAStandby) {
  postgres_server server;
  auto const url = server.fresh_url();
  auto folder = server.sql(url, "SHOW data_directory");
  folder.erase(folder.find_last_not_of('\n') + 1);
  server.sql(url, "CHECKPOINT");
  server.kill();
  std::ofstream(folder + "/standby.signal") << "";
  std::filesystem::permissions(folder + "/standby.signal", std::filesystem::perms::all);
  server.start();
  auto const report = examined(url);
  EXPECT_TRUE(report.has("error postgres.standby")) << report.text;
}

// pool_mode = transaction: each transaction on whatever connection is free.
TEST(DoctorPostgres, FindsATransactionPooler) {
  auto& server = postgres_server::shared();
  temp_dir folder;
  kept_ports ports;
  auto const port = ports.add();
  auto const fresh = server.fresh_url();
  auto const name_at = fresh.rfind('/') + 1;
  auto const name = fresh.substr(name_at, fresh.find('?') - name_at);
  auto const origin = " host=127.0.0.1 port=" + std::to_string(server.port()) + " user=postgres";
  std::ofstream(folder / "p.ini") << "[databases]\n*=" << origin << "\nkept =" << origin
                                  << " pool_mode=session dbname=" << name
                                  << "\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=" << port
                                  << "\nauth_type=any\nunix_socket_dir=\npool_mode=transaction\n"
                                     "ignore_startup_parameters=extra_float_digits,options\n";
  // It does not run as root.
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  child_process const pooler(
      {.argv = {find_program("pgbouncer", "pgbouncer"), (folder / "p.ini").string()},
       .user = "postgres"});
  auto url = postgres_server::through(fresh, server.port(), port);
  ASSERT_TRUE(eventually([&] {
    auto const seen = herdlock::examine_store(url);
    return seen && std::none_of(seen->findings.begin(), seen->findings.end(),
                                [](auto const& one) { return one.check == "postgres.reachable"; });
  })) << pooler.errors();
  auto const report = examined(url + "&mode=advisory");
  EXPECT_TRUE(report.has("error postgres.pooler")) << report.text << pooler.errors();
  auto const kept = examined(url.replace(url.rfind("/" + name) + 1, name.size(), "kept"));
  EXPECT_TRUE(kept.has("warning postgres.proxy")) << kept.text << pooler.errors();
}

TEST(DoctorPostgres, FindsNoServerAtAll) {
  auto const gone =
      examined("postgres://u:s3cret@127.0.0.1:" + std::to_string(dead_port()) + "/d?timeout=1s");
  EXPECT_TRUE(gone.has("error postgres.reachable")) << gone.text;
  EXPECT_EQ(gone.text.find("s3cret"), std::string::npos) << gone.text;
}

// ---- ZooKeeper

TEST(DoctorZookeeper, FindsNothingOnAHealthyServer) {
  auto& server = zookeeper_server::shared();
  auto const report = examined(server.url(server.fresh_chroot()));
  EXPECT_EQ(report.findings(), words{}) << report.text;
}

TEST(DoctorZookeeper, FindsSessionLimits) {
  auto& server = zookeeper_server::shared();
  // The tests' server gives a minute at most.
  auto const report = examined(server.url(server.fresh_chroot()) + "?session_timeout=5m");
  EXPECT_EQ(report.findings(), (words{"error store.usable", "warning zookeeper.session"}))
      << report.text;
}

// One ensemble for all, since it takes its time to start: few connections, long sessions, and a
// server that lost the majority serves those who only read.
TEST(DoctorZookeeper, FindsAnEnsembleThatIsNotWholeAndItsLimits) {
  zookeeper_server server(3, {.config = {"maxClientCnxns=9", "minSessionTimeout=4000"},
                              .java = {"-Dreadonlymode.enabled=true"}});
  auto const url = server.url(server.fresh_chroot());
  EXPECT_EQ(examined(url).findings(), words(3, "warning zookeeper.connections"));
  auto const shorter = examined(url + "?session_timeout=2s");
  EXPECT_TRUE(shorter.has("warning zookeeper.session")) << shorter.text;
  EXPECT_NE(shorter.text.find("kept longer"), std::string::npos) << shorter.text;
  auto const follower = server.follower();
  server.member(follower).kill();
  auto const two = examined(url);
  EXPECT_TRUE(two.has("warning zookeeper.servers")) << two.text;
  EXPECT_EQ(two.findings().size(), 3u) << two.text;
  auto const leader = server.leader();
  server.member(leader).kill();
  auto const& last = server.member(3 - follower - leader);
  ASSERT_TRUE(eventually([&] { return last.word("srvr").find("read-only") != std::string::npos; }));
  auto const one = examined(url + "?timeout=1s");
  EXPECT_TRUE(one.has("error zookeeper.reachable")) << one.text;
  EXPECT_TRUE(one.has("error zookeeper.read_only")) << one.text;
  EXPECT_TRUE(one.has("error zookeeper.servers")) << one.text;
}

// ---- etcd

TEST(DoctorEtcd, FindsNothingOnAHealthyServer) {
  auto const report = examined(etcd_server::shared().url());
  EXPECT_EQ(report.findings(), words{}) << report.text;
}

TEST(DoctorEtcd, FindsAnAlarm) {
  etcd_server server;
  auto const place = "http://127.0.0.1:" + std::to_string(server.port());
  run_command(
      {.argv = {find_program("curl", "curl"), "--silent", "--fail", "-d",
                R"({"action":"ACTIVATE","alarm":"NOSPACE"})", place + "/v3/maintenance/alarm"}});
  auto const report = examined(server.url());
  EXPECT_TRUE(report.has("error etcd.alarms")) << report.text;
}

TEST(DoctorEtcd, FindsMissingRights) {
  etcd_server server({"--bcrypt-cost=4"});
  auto const& member = server.member();
  member.ctl({"user", "add", "root:s3cret"});
  member.ctl({"user", "grant-role", "root", "root"});
  for (auto const& [name, right] : {std::pair("clerk", "readwrite"), std::pair("reader", "read")}) {
    auto const keys = right == std::string("read") ? "herdlock-doctor/" : "stock/";
    member.ctl({"role", "add", name});
    member.ctl({"role", "grant-permission", name, "--prefix=true", right, keys});
    member.ctl({"user", "add", std::string(name) + ":s3cret"});
    member.ctl({"user", "grant-role", name, name});
  }
  member.ctl({"auth", "enable"});
  auto const as = [&](std::string const& user) {
    auto report = examined("etcd://" + user + "127.0.0.1:" + std::to_string(server.port()));
    EXPECT_EQ(report.text.find("s3cret"), std::string::npos) << report.text;
    return report;
  };
  EXPECT_EQ(as("root:s3cret@").findings(), words{});
  for (char const* user : {"clerk:s3cret@", "reader:s3cret@", ""}) {
    auto const report = as(user);
    EXPECT_TRUE(report.has("error etcd.rights")) << user << report.text;
    EXPECT_TRUE(report.has("error store.usable")) << user << report.text;
  }
}

// A member that only listens; then one of two that vote, alone.
TEST(DoctorEtcd, FindsALearnerAndThatNobodyLeads) {
  etcd_server server;
  etcd_member learner("learner", {"--initial-cluster-state=existing"});
  auto const place = [](etcd_member const& one) {
    return "http://127.0.0.1:" + std::to_string(one.peer_port());
  };
  server.member().ctl(
      {"member", "add", learner.name(), "--learner", "--peer-urls=" + place(learner)});
  learner.start(learner.name() + "=" + place(learner) + ",default=" + place(server.member()));
  auto const url = "etcd://127.0.0.1:" + std::to_string(learner.port()) + "?timeout=300ms";
  auto const finds = [&](std::string const& check) {
    return eventually([&] {
      auto const seen = herdlock::examine_store(url);
      return seen &&
             std::any_of(seen->findings.begin(), seen->findings.end(), [&](auto const& one) {
               return one.check == check && one.weight == herdlock::severity::error;
             });
    });
  };
  EXPECT_TRUE(finds("etcd.learner")) << learner.errors();
  // A voter now, so that the other one's end leaves no majority.
  auto const all = server.member().ctl({"member", "list"});
  auto const line = all.rfind('\n', all.find(", learner,")) + 1;
  EXPECT_TRUE(eventually([&] {
    try {
      server.member().ctl({"member", "promote", all.substr(line, all.find(',', line) - line)});
      return true;
    } catch (std::runtime_error const&) {
      return false;  // it is not in step yet
    }
  }));
  server.kill();
  EXPECT_TRUE(finds("etcd.leader")) << learner.errors();
}

TEST(DoctorEtcd, FindsALongLeastTtl) {
  etcd_server server({"--heartbeat-interval=500", "--election-timeout=6000"});
  EXPECT_EQ(examined(server.url()).findings(), words{"warning etcd.least_ttl"});
}

TEST(DoctorEtcd, FindsMissingMembersAndNoneAtAll) {
  auto const gone = std::to_string(dead_port());
  auto const some = examined("etcd://127.0.0.1:" + std::to_string(etcd_server::shared().port()) +
                             ",127.0.0.1:" + gone + "?timeout=1s");
  EXPECT_TRUE(some.has("error etcd.members")) << some.text;
  auto const none = examined("etcd://127.0.0.1:" + gone + "?timeout=1s");
  EXPECT_TRUE(none.has("error etcd.members")) << none.text;
}

}  // namespace
