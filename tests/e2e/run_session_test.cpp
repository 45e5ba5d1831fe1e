// `herdlock run` in the modes whose locks belong to a session: its end is the command's, at once.
#include <gtest/gtest.h>

#include <support/mariadb_server.hpp>
#include <support/postgres_server.hpp>

#include "herdlock_command.hpp"

namespace {

using namespace herdlock_test;
using std::chrono::seconds;

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

class RunMysqlSession : public RunSession {
 protected:
  std::string const database_ = std::string("run_session_") + GetParam();
  std::string const url_ = mariadb_server::shared().url(database_) + "?mode=" + GetParam();
};
INSTANTIATE_TEST_SUITE_P(Modes, RunMysqlSession, ::testing::Values("named", "row"),
                         [](auto const& one) { return one.param; });

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
