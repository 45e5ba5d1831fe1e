// MariaDB when its answers don't come: silent connections, rows and tables that somebody locks.
#include <thread>

#include "mysql_ports.hpp"

namespace herdlock_test {
namespace {

struct mysql_blocked : testing::TestWithParam<std::string> {
  store_case const kind{.name = "mysql", .url = {}, .open = &open_mysql};
  std::string const url = mysql_url(GetParam());
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
  resource const stock{"stock:1"};

  // As a process that ends would: from another thread, to see that it ends.
  static bool closes(client& c) {
    std::atomic<bool> closed = false;
    std::thread closing([&] {
      c.close();
      closed = true;
    });
    bool const soon = eventually([&] { return closed.load(); });
    closing.join();
    return soon;
  }
};

struct mysql_any : mysql_blocked {};
struct mysql_by_session : mysql_blocked {};
struct mysql_by_row_of_table : mysql_blocked {};
auto const mode_of_mysql = [](auto const& one) { return one.param; };
INSTANTIATE_TEST_SUITE_P(modes, mysql_any, testing::Values("table", "row", "named"), mode_of_mysql);
INSTANTIATE_TEST_SUITE_P(modes, mysql_by_session, testing::Values("row", "named"), mode_of_mysql);
INSTANTIATE_TEST_SUITE_P(modes, mysql_by_row_of_table, testing::Values("table"), mode_of_mysql);

// B20: a server that takes connections and says nothing keeps no store from being closed.
TEST_P(mysql_any, AStoreThatIsConnectingToASilentServerCanBeClosed) {
  relay hole(mariadb_server::shared().port());
  hole.stop_forwarding();
  client c(kind, mysql_through(hole, url) + "&timeout=1m");
  auto const asked = c.start_acquire({stock, alice, 1min, 1min});
  ASSERT_TRUE(c.run_until([&] { return hole.connections_ever() > 0; }));
  EXPECT_TRUE(closes(c));
  EXPECT_TRUE(asked.done());
}

TEST_P(mysql_any, AStoreWithAStatementAtASilentServerCanBeClosed) {
  relay hole(mariadb_server::shared().port());
  client c(kind, mysql_through(hole, url) + "&timeout=1m");
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  hole.stop_forwarding();
  auto const asked = c.start_acquire({resource("other"), bob, 1min, 1min});
  EXPECT_TRUE(closes(c));
  EXPECT_TRUE(asked.done());
}

TEST_P(mysql_any, ASilentServerIsToldWithTheResourceAndFoundAgain) {
  client first(kind, url);
  ASSERT_TRUE(is<grant>(first.acquire(stock, bob)));
  relay wire(mariadb_server::shared().port());
  client c(kind, mysql_through(wire, url) + "&timeout=500ms");
  ASSERT_TRUE(eventually([&] { return is<busy>(c.acquire(stock, alice)); }));
  wire.stop_forwarding();
  auto const late = c.inspect(stock);
  ASSERT_FALSE(late.has_value());
  EXPECT_TRUE(late.error() == errc::timed_out) << late.error().message;
  EXPECT_NE(late.error().message.find("stock:1"), std::string::npos) << late.error().message;
  EXPECT_TRUE(c.acquire(stock, alice).error() == errc::timed_out);
  wire.resume_forwarding();
  EXPECT_TRUE(eventually([&] { return is<busy>(c.acquire(stock, alice)); }));
}

// 1205: somebody's transaction keeps our row. It says so, and costs the others nothing.
TEST_P(mysql_by_row_of_table, ARowThatAForeignTransactionLocksIsToldAndHoldsUpNobodyElse) {
  client c(kind, url);
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  mysql_session_by_hand other(url);
  other.run("BEGIN; SELECT * FROM herdlock_leases WHERE resource = 'stock:1' FOR UPDATE");
  auto renewing = c.start<renew_reply>(
      [&](auto done) { c.store().leases->renew(stock, alice, 1min, std::move(done)); });
  EXPECT_TRUE(is<grant>(c.acquire(resource("other"), bob)));
  auto const late = c.get(renewing);
  ASSERT_FALSE(late.has_value());
  EXPECT_TRUE(late.error() == errc::timed_out) << late.error().message;
  EXPECT_NE(late.error().message.find("another transaction"), std::string::npos)
      << late.error().message;
  other.run("ROLLBACK");
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
}

// Thread and connection of an operation are free when its time is up, not when the server
// answers at last.
TEST_P(mysql_by_row_of_table, ATableThatSomebodyLocksKeepsNoConnection) {
  relay wire(mariadb_server::shared().port());
  client c(kind, mysql_through(wire, url) + "&timeout=500ms&pool=1");
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  mysql_session_by_hand other(url);
  other.run("LOCK TABLES herdlock_leases WRITE");
  ASSERT_EQ(wire.connections(), 1U);
  EXPECT_TRUE(c.acquire(resource("other"), bob).error() == errc::timed_out);
  EXPECT_TRUE(c.run_until([&] { return wire.connections() == 0; })) << "asked without a thread";
  EXPECT_TRUE(c.renew(stock, alice).error() == errc::timed_out);
  EXPECT_TRUE(c.run_until([&] { return wire.connections() == 0; })) << "asked by a thread";
  other.run("UNLOCK TABLES");
  EXPECT_TRUE(eventually([&] { return c.renew(stock, alice).has_value(); }));
}

// What was cancelled while it waited for a connection is not done when its turn comes.
TEST_P(mysql_by_row_of_table, WhatWasCancelledInFrontOfTheServerIsNotAskedFor) {
  client c(kind, url + "&timeout=20s&pool=1");
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  mysql_session_by_hand other(url);
  other.run("LOCK TABLES herdlock_leases WRITE");
  auto under_way = c.start_acquire({stock, bob, 1min, 0ms});
  auto behind = c.start_acquire({resource("other"), bob, 1min, 0ms});
  int turns = 0;
  c.run_until([&] { return ++turns > 5; });
  behind.cancel();
  EXPECT_TRUE(c.get(behind).error() == errc::canceled);
  other.run("UNLOCK TABLES");
  EXPECT_TRUE(is<busy>(c.get(under_way)));
  EXPECT_TRUE(is<grant>(c.acquire(resource("third"), bob))) << "behind it in line";
  EXPECT_FALSE(c.inspect(resource("other")).value());
}

// A row that somebody wrote by hand is no reason for a list to fail, nor for the next ones.
TEST_P(mysql_by_row_of_table, AListPassesOverWhatIsNoName) {
  client c(kind, url);
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  ASSERT_TRUE(is<grant>(c.acquire(resource("leases"), alice)));
  mariadb_server::shared().sql(
      "USE `" + mysql_database(url) +
      "`; UPDATE herdlock_leases SET resource = 'a\\0b' WHERE resource = 'leases'");
  for (int i = 0; i < 2; ++i) {
    auto const page = c.list({}).value();
    EXPECT_EQ(page.names, std::vector{stock});
  }
  EXPECT_TRUE(is<grant>(c.acquire(resource("leases"), bob)));
}

// The server does not come back to the statement for longer than the test waits: its connection is
// ended at the deadline, and nobody waits for it.
TEST_P(mysql_by_row_of_table, AStatementThatIsNotAnsweredInTimeKeepsNoConnection) {
  client first(kind, url);
  ASSERT_TRUE(is<grant>(first.acquire(resource("other"), alice)));  // which makes the table
  relay wire(mariadb_server::shared().port());
  client c(kind, mysql_through(wire, url) + "&timeout=500ms&pool=1");
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  ASSERT_TRUE(eventually([&] { return c.release(stock, alice).has_value(); }));
  mariadb_server::shared().sql(
      "USE `" + mysql_database(url) +
      "`;\nDELIMITER //\nCREATE TRIGGER slow BEFORE UPDATE ON herdlock_leases FOR EACH "
      "ROW IF NEW.resource = 'stock:1' THEN DO SLEEP(300); END IF//\n");
  ASSERT_EQ(wire.connections(), 1U);
  EXPECT_TRUE(c.acquire(stock, bob).error() == errc::timed_out);
  EXPECT_TRUE(c.run_until([&] { return wire.connections() == 0; }));
  EXPECT_TRUE(eventually([&] { return is<busy>(c.acquire(resource("other"), bob)); }));
}

// 1213: the server undid the statement, so it is run again; not for ever.
TEST_P(mysql_by_row_of_table, AStatementThatMeetsADeadlockIsRunAgainUntilItsDeadline) {
  client c(kind, url + "&timeout=3s");
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
  std::string const use = "USE `" + mysql_database(url) + "`; ";
  std::string const deadlock =
      "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'; END IF";
  mariadb_server::shared().sql(
      use +
      "CREATE SEQUENCE tries;\nDELIMITER //\nCREATE TRIGGER unlucky BEFORE UPDATE ON "
      "herdlock_leases FOR EACH ROW IF NEXTVAL(tries) < 3 THEN " +
      deadlock + "//\n");
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_EQ(mariadb_server::shared().sql(use + "SELECT NEXTVAL(tries)"), "4\n");
  mariadb_server::shared().sql(use + "SELECT SETVAL(tries, -1000000000)");
  mariadb_server::shared().sql(use +
                               "\nDELIMITER //\nCREATE OR REPLACE TRIGGER unlucky BEFORE UPDATE ON "
                               "herdlock_leases FOR EACH ROW IF TRUE THEN " +
                               deadlock + "//\n");
  auto const never = c.renew(stock, alice);
  ASSERT_FALSE(never.has_value());
  EXPECT_TRUE(never.error() == errc::timed_out) << never.error().message;
  mariadb_server::shared().sql(use + "DROP TRIGGER unlucky");
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
}

// B1, B4: the session that held is ended: lost, and not taken anew.
TEST_P(mysql_by_session, AHolderWhoseSessionIsKilledHasLost) {
  client c(kind, url), other(kind, url);
  auto const first = as<grant>(c.acquire(stock, alice)).fencing;
  auto const session = mariadb_server::shared().sql("SELECT session FROM `" + mysql_database(url) +
                                                    "`.herdlock_" + GetParam() + "_leases");
  mariadb_server::shared().sql("KILL CONNECTION " + session);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
  fencing_token next{};
  ASSERT_TRUE(eventually([&] {
    auto const reply = other.acquire(stock, bob);
    if (is<grant>(reply)) next = as<grant>(reply).fencing;
    return is<grant>(reply);
  }));
  EXPECT_GT(next, first);
}

// B1: a session that does not answer in time is ended, and its holder told of the loss, before the
// renewal's own deadline. Nobody else gets that session, and the lock does not stay on it.
TEST_P(mysql_by_session, AHolderWhoseSessionIsSilentHasLostAndTheSessionIsNotUsedAgain) {
  relay wire(mariadb_server::shared().port());
  client c(kind, mysql_through(wire, url) + "&timeout=3s&pool=1"), other(kind, url);
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice, 1h)); }));
  wire.stop_forwarding();
  auto const told = c.renew(stock, alice, 1h);
  ASSERT_TRUE(told.has_value()) << told.error().message;
  EXPECT_EQ(*told, renew_reply::lost);
  wire.resume_forwarding();
  EXPECT_TRUE(eventually([&] { return is<grant>(other.acquire(stock, bob)); }));
  EXPECT_TRUE(eventually([&] { return is<grant>(c.acquire(resource("other"), alice)); }));
  EXPECT_EQ(other.renew(stock, bob).value(), renew_reply::renewed);
  EXPECT_EQ(c.release(resource("other"), alice).value(), release_reply::released);
  EXPECT_TRUE(is<busy>(c.acquire(stock, alice)));
}

}  // namespace
}  // namespace herdlock_test
