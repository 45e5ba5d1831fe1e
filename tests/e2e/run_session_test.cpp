// `herdlock run` in the modes whose locks belong to a session: its end is the command's, at once.
#include <gtest/gtest.h>
#include <signal.h>

#include <herdlock/types.hpp>
#include <support/eventually.hpp>
#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using std::chrono::seconds;
using words = std::vector<std::string>;

class RunSession : public ::testing::TestWithParam<std::string> {
 protected:
  // A holder whose next renewal is 20 s away.
  static child_process hold(std::string const& url) {
    auto child = start_herdlock({"run", "job", "--store", url, "--ttl", "60s", "--", "sh", "-c",
                                 "echo works; exec sleep 600"});
    EXPECT_TRUE(eventually([&] { return child.output() == "works\n"; })) << child.errors();
    return child;
  }
  static void expect_lost(child_process& holder) {
    EXPECT_TRUE(eventually(seconds(10), [&] { return !holder.running(); }))
        << "still at work when the next may be";
    EXPECT_EQ(holder.wait(), (exit_status{.code = 76, .signal = {}})) << holder.errors();
    EXPECT_NE(holder.errors().find("its session in the server has ended"), std::string::npos)
        << holder.errors();
  }
};

// A lease that ends with its session cannot outlive the command: it is refused, or waited for.
void expect_no_lease_behind(std::string const& url) {
  words const run{"run", "job", "--store", url};
  auto with = [&](words options) {
    words all = run;
    all.insert(all.end(), options.begin(), options.end());
    return all;
  };
  auto const refused = run_herdlock(with({"--once-per", "1h", "--", "echo", "never"}));
  EXPECT_EQ(refused.code, 64) << refused.err;
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("--once-per"), std::string::npos) << refused.err;
  auto const began = herdlock::clock::now();
  EXPECT_EQ(run_herdlock(with({"--min-hold", "1s", "--", "true"})).code, 0);
  EXPECT_GE(herdlock::clock::now() - began, seconds(1));
  auto stays = start_herdlock(with({"--min-hold", "1h", "--verbose", "--", "true"}));
  EXPECT_TRUE(eventually([&] { return stays.errors().find("keeps ") != std::string::npos; }))
      << stays.errors();
  EXPECT_EQ(run_herdlock(with({"--", "true"})).code, 75);
  stays.signal(SIGTERM);
  EXPECT_EQ(stays.wait(), (exit_status{.code = 0, .signal = {}})) << stays.errors();
  EXPECT_EQ(run_herdlock(with({"--", "true"})).code, 0) << "given back at the signal";
}

class RunPostgresSession : public RunSession {};
INSTANTIATE_TEST_SUITE_P(Modes, RunPostgresSession, ::testing::Values("advisory", "row"),
                         [](auto const& one) { return one.param; });

// B1: another may hold it in the same moment.
TEST_P(RunPostgresSession, TheCommandEndsWhenItsSessionIsTerminated) {
  auto& server = postgres_server::shared();
  auto const url = server.fresh_url();
  auto holder = hold(url + "&mode=" + GetParam());
  server.sql(url,
             "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
             "application_name LIKE 'herdlock %' AND pid <> pg_backend_pid()");
  expect_lost(holder);
}

TEST_P(RunPostgresSession, TheCommandEndsWhenTheServerCrashes) {
  auto& server = postgres_server::shared();
  auto holder = hold(server.fresh_url() + "&mode=" + GetParam());
  server.kill();
  expect_lost(holder);
  server.start();
}

TEST_P(RunPostgresSession, NoLeaseStaysBehind) {
  expect_no_lease_behind(postgres_server::shared().fresh_url() + "&mode=" + GetParam());
}

class RunMysqlSession : public RunSession {
 protected:
  std::string const database_ = std::string("run_session_") + GetParam();
  std::string const url_ = mariadb_server::shared().url(database_) + "?mode=" + GetParam();
};
INSTANTIATE_TEST_SUITE_P(Modes, RunMysqlSession, ::testing::Values("named", "row"),
                         [](auto const& one) { return one.param; });

TEST_P(RunMysqlSession, NoLeaseStaysBehind) { expect_no_lease_behind(url_); }

// B1
TEST_P(RunMysqlSession, TheCommandEndsWhenItsSessionIsKilled) {
  auto& server = mariadb_server::shared();
  auto holder = hold(url_);
  auto const session = server.sql("SELECT session FROM `" + database_ + "`.herdlock_" + GetParam() +
                                  "_leases WHERE resource = 'job'");
  server.sql("KILL " + session);
  expect_lost(holder);
}

TEST_P(RunMysqlSession, TheCommandEndsWhenTheServerCrashes) {
  auto& server = mariadb_server::shared();
  auto holder = hold(url_);
  server.kill();
  expect_lost(holder);
  server.restart();
}

}  // namespace
