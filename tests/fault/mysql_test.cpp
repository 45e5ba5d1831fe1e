// A real MariaDB server that is killed, cut off, full and short of rights, in all three modes.
#include <support/child_process.hpp>
#include <support/mariadb_server.hpp>
#include <support/relay.hpp>

#include "../contract/fixture.hpp"
#include "mysql_ports.hpp"
#include "stores/mysql/mysql_store.hpp"

namespace herdlock_test {
namespace {

mariadb_server& mariadb() { return mariadb_server::shared(); }

struct mysql_base : testing::Test {
  store_case const kind{.name = "mysql", .url = {}, .open = &open_mysql};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
  resource const stock{"stock:1"};

  static std::string url_of(std::string const& mode, std::string const& more = "") {
    static int number = 0;
    return mariadb().url("fault_" + std::to_string(++number)) + "?mode=" + mode + more;
  }
  static std::string database_of(std::string const& url) {
    return url.substr(url.rfind('/') + 1, url.find('?') - url.rfind('/') - 1);
  }
  bool taken_soon(client& c, owner_token const& who, fencing_token& token) {
    return eventually([&] {
      auto const reply = c.acquire(stock, who);
      if (is<grant>(reply)) token = as<grant>(reply).fencing;
      return is<grant>(reply);
    });
  }
};

struct mysql_modes : mysql_base, testing::WithParamInterface<std::string> {
  std::string const url = url_of(GetParam());
  bool by_session() const { return GetParam() != "table"; }
};

INSTANTIATE_TEST_SUITE_P(modes, mysql_modes, testing::Values("table", "row", "named"),
                         [](auto const& one) { return one.param; });

// B1: a session-held lock dies with the server, a lease in the table outlives it.
TEST_P(mysql_modes, AServerThatIsKilledAndRestartedWhileALeaseIsHeld) {
  client a(kind, url), b(kind, url);
  fencing_token const first = as<grant>(a.acquire(stock, alice)).fencing;
  mariadb().kill();
  EXPECT_TRUE(b.acquire(stock, bob).error() == errc::unavailable);
  mariadb().restart();
  fencing_token next;
  if (by_session()) {
    EXPECT_EQ(a.renew(stock, alice).value(), renew_reply::lost);
  } else {
    EXPECT_EQ(a.renew(stock, alice).value(), renew_reply::renewed);
    EXPECT_TRUE(is<busy>(b.acquire(stock, bob)));
    EXPECT_EQ(a.release(stock, alice).value(), release_reply::released);
  }
  ASSERT_TRUE(taken_soon(b, bob, next));
  EXPECT_GT(next, first);
}

// B12: whoever waits is told, or gets it; nobody hangs.
TEST_P(mysql_modes, AServerThatIsKilledAndRestartedWhileALeaseIsWaitedFor) {
  // Not too late for whoever waits, however long the server takes to come back.
  client a(kind, url), b(kind, url + "&timeout=20s");
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  auto waiting = b.start_acquire({stock, bob, 1min, 1min});
  b.inspect(stock).value();
  mariadb().restart();
  auto const reply = b.get(waiting);
  if (!reply) {
    EXPECT_TRUE(reply.error() == errc::unavailable) << reply.error().message;
  }
  a.release(stock, alice);
  fencing_token next;
  EXPECT_TRUE(taken_soon(b, bob, next));
}

// B7: wherever the connection ends, nothing stays behind, and nobody is let in twice.
TEST_P(mysql_modes, AConnectionThatIsCutAfterEachExchange) {
  client other(kind, url);
  ASSERT_TRUE(is<grant>(other.acquire(stock, bob)));
  ASSERT_TRUE(other.release(stock, bob).has_value());
  relay wire(mariadb().port());
  int cuts = 0;
  for (auto way : {direction::to_client, direction::to_server}) {
    for (std::size_t bytes = 0; bytes < 3000; bytes = bytes * 5 / 4 + 11) {
      client cut(kind, mysql_through(wire, url));
      wire.cut_after_bytes(way, bytes);
      auto const reply = cut.acquire(stock, alice);
      cuts += wire.cut_pending() ? 0 : 1;
      wire.disarm();
      if (is<grant>(reply) && cut.renew(stock, alice).value() == renew_reply::renewed) {
        EXPECT_TRUE(is<busy>(other.acquire(stock, bob))) << bytes;
      }
      ASSERT_TRUE(cut.release(stock, alice).has_value()) << bytes;
      fencing_token token;
      ASSERT_TRUE(taken_soon(other, bob, token)) << "a ghost after " << bytes << " bytes";
      EXPECT_EQ(other.release(stock, bob).value(), release_reply::released);
    }
  }
  EXPECT_GT(cuts, 10);
}

// Held by a session: free at once. By a row: when its ttl is over.
TEST_P(mysql_modes, AHolderThatIsKilled) {
  client c(kind, url);
  child_process holder(
      {.argv = {HERDLOCK_LOCK_HOLDER, url, "stock:1", by_session() ? "600000" : "1000", "hold"}});
  ASSERT_TRUE(eventually([&] { return holder.output().find("held") != std::string::npos; }))
      << holder.errors();
  ASSERT_TRUE(is<busy>(c.acquire(stock, bob)));
  holder.kill();
  fencing_token token;
  EXPECT_TRUE(taken_soon(c, bob, token));
}

// B1, B17: the stopped one's session ends at the server, and it knows before it acts.
TEST_P(mysql_modes, AHolderThatIsStoppedPastItsTimeAndContinued) {
  client c(kind, url);
  child_process holder({.argv = {HERDLOCK_LOCK_HOLDER, url, "stock:1", "1000", "hold"}});
  ASSERT_TRUE(eventually([&] { return holder.output().find("held") != std::string::npos; }))
      << holder.errors();
  holder.pause();
  fencing_token token;
  ASSERT_TRUE(taken_soon(c, bob, token));
  holder.signal(SIGUSR1);
  holder.resume();
  EXPECT_TRUE(eventually([&] { return holder.output().find("valid 0") != std::string::npos; }));
  EXPECT_TRUE(eventually([&] { return holder.output().find("lost") != std::string::npos; }));
  EXPECT_EQ(holder.output().find("valid 1"), std::string::npos);
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
}

TEST_P(mysql_modes, WrongCredentialsAreToldWithoutThePassword) {
  std::string wrong = url;
  wrong.replace(wrong.find("root@"), 5, "root:hunter2@");
  client c(kind, wrong);
  auto const reply = c.acquire(stock, alice);
  EXPECT_TRUE(reply.error() == errc::access_denied) << reply.error().message;
  EXPECT_EQ(reply.error().message.find("hunter2"), std::string::npos);
}

// What doctor prints for that is run in tests/e2e/doctor_sql_test.cpp.
TEST_P(mysql_modes, WithoutTheRightToMakeTheTableTheErrorTellsWhoPrintsTheStatements) {
  std::string const database = database_of(url);
  mariadb().sql(
      "CREATE OR REPLACE USER poor@'%' IDENTIFIED BY 'pw'; GRANT SELECT, INSERT, UPDATE, "
      "DELETE ON `" +
      database + "`.* TO poor@'%'");
  std::string poor = url;
  poor.replace(poor.find("root@"), 5, "poor:pw@");
  client c(kind, poor);
  auto const reply = c.acquire(stock, alice);
  ASSERT_TRUE(reply.error() == errc::access_denied) << reply.error().message;
  EXPECT_NE(reply.error().message.find("herdlock doctor"), std::string::npos)
      << reply.error().message;
  EXPECT_EQ(reply.error().message.find("CREATE TABLE"), std::string::npos);
  client(kind, url).acquire(stock, bob).value();
  mariadb().sql("REVOKE UPDATE ON `" + database + "`.* FROM poor@'%'");
  client d(kind, poor);
  EXPECT_TRUE(d.acquire(resource("other"), bob).error() == errc::access_denied);
}

// No collation makes two names one.
TEST_P(mysql_modes, NamesThatDifferInCaseOrBlanksOrAtTheirEndAreDifferentResources) {
  client c(kind, url), d(kind, url);
  std::string const longest(limits::max_name_bytes, 'x');
  for (std::string const& name :
       {std::string("stock"), std::string("Stock"), std::string("STOCK"), std::string("stock "),
        std::string("stock  "), std::string("ö"), std::string("Ö"), longest, longest.substr(1),
        longest.substr(1) + "X"}) {
    EXPECT_TRUE(is<grant>(c.acquire(resource(name), alice))) << name;
    EXPECT_TRUE(is<busy>(d.acquire(resource(name), bob))) << name;
  }
}

// One that is refused has not begun: nothing was sent for it.
TEST_P(mysql_modes, AnOperationThatIsRefusedChangesNothing) {
  client c(kind, url + "&max_pending=1"), d(kind, url);
  resource const first{"first"}, second{"second"};
  ASSERT_TRUE(is<grant>(c.acquire(first, alice)));
  ASSERT_EQ(c.release(first, alice).value(), release_reply::released);  // a session is idle now
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const alices = c.start_acquire({first, alice, 1min});
  auto const bobs = c.start_acquire({second, bob, 1min});
  EXPECT_TRUE(c.release(stock, alice).error() == errc::overloaded);
  EXPECT_TRUE(c.get(bobs).error() == errc::overloaded);
  EXPECT_TRUE(is<grant>(c.get(alices)));
  EXPECT_TRUE(d.inspect(stock).value().has_value());
  EXPECT_FALSE(d.inspect(second).value().has_value());
}

struct mysql_table : mysql_base {};
struct mysql_session : mysql_base, testing::WithParamInterface<std::string> {};
INSTANTIATE_TEST_SUITE_P(modes, mysql_session, testing::Values("row", "named"),
                         [](auto const& one) { return one.param; });

TEST_P(mysql_session, AFullPoolIsToldAndTakesThePlaceThatBecomesFree) {
  client c(kind, url_of(GetParam(), "&pool=1"));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const reply = c.acquire(resource("other"), bob);
  ASSERT_TRUE(reply.error() == errc::overloaded) << reply.error().message;
  EXPECT_NE(reply.error().message.find("pool"), std::string::npos);
  ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(c.acquire(resource("other"), bob)));
}

// B11: waiting costs one connection for each resource, however many wait.
TEST_P(mysql_session, ManyWaitersOfAStoreNeedOneConnection) {
  std::string const url = url_of(GetParam());
  client a(kind, url), b(kind, url + "&pool=1");
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  std::vector<pending<acquire_reply>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(b.start_acquire({stock, owner_token::generate(), 300ms, 1min}));
  }
  ASSERT_EQ(a.release(stock, alice).value(), release_reply::released);
  for (auto const& each : all) EXPECT_TRUE(is<grant>(b.get(each)));
}

// The lock was the releaser's until then, and its session is there to say so.
TEST_P(mysql_session, AReleaseWhoseSuccessorCannotBeWrittenDownIsARelease) {
  std::string const url = url_of(GetParam());
  client c(kind, url);
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  std::string const database = database_of(url);
  mariadb().sql("USE `" + database + "`; CREATE TRIGGER no_bob BEFORE UPDATE ON herdlock_" +
                GetParam() + "_leases FOR EACH ROW SET NEW.fencing = IF(NEW.owner = '" +
                std::string(bob.str()) + "', (SELECT 1 UNION SELECT 2), NEW.fencing)");
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto bobs = c.start_acquire({stock, bob, 1min, 1min});
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_FALSE(c.get(bobs).has_value());
  EXPECT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice)); }));
}

// A handler may ask again at once: that, too, is one question at the server, with the one session.
TEST_P(mysql_session, WhoWaitsFromInsideTheAnswerBusyIsQueuedOnce) {
  std::string const url = url_of(GetParam());
  client a(kind, url), b(kind, url + "&pool=1");
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  std::optional<pending<acquire_reply>> again;
  auto const ask_again = [&](result<acquire_reply> const& first) {
    EXPECT_TRUE(is<busy>(first));
    again = b.start_acquire({stock, bob, 1min, 1min});
  };
  b.store().leases->acquire({stock, owner_token::generate(), 1min}, ask_again);
  ASSERT_TRUE(b.run_until([&] { return again.has_value(); }));
  b.inspect(stock).value();
  ASSERT_EQ(a.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(b.get(*again)));
  EXPECT_EQ(b.release(stock, bob).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(a.acquire(stock, alice)));
}

// B8: what a process queued at the server goes with it.
TEST_P(mysql_session, AWaiterThatIsKilledIsSkipped) {
  std::string const url = url_of(GetParam());
  client a(kind, url), b(kind, url);
  ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
  child_process waiter({.argv = {HERDLOCK_LOCK_HOLDER, url, "stock:1", "600000", "hold"}});
  ASSERT_TRUE(eventually([&] {
    return mariadb().sql(
               "SELECT COUNT(*) FROM information_schema.processlist WHERE command = "
               "'Query' AND (state = 'User lock' OR info LIKE '%FOR UPDATE')") == "1\n";
  }));
  waiter.kill();
  auto bobs = b.start_acquire({stock, bob, 1min, 1min});
  b.inspect(stock).value();
  ASSERT_EQ(a.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(b.get(bobs)));
}

TEST_F(mysql_table, MoreOperationsThanConnectionsTakeTurns) {
  client c(kind, url_of("table", "&pool=1"));
  std::vector<pending<acquire_reply>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(c.start_acquire({resource("r" + std::to_string(i)), alice, 1min}));
  }
  for (auto const& each : all) EXPECT_TRUE(is<grant>(c.get(each)));
}

// Whoever has it by now: the one whose answer was lost is not told that it lost the lease.
TEST_F(mysql_table, AReleaseThatIsAskedAgainTellsItsFirstAnswer) {
  std::string const url = url_of("table");
  client other(kind, url);
  relay wire(mariadb().port());
  client c(kind, mysql_through(wire, url));
  int unanswered = 0;
  for (std::size_t bytes = 0; bytes < 60; bytes += 4) {
    ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
    wire.cut_after_bytes(direction::to_client, bytes);
    unanswered += c.release(stock, alice).has_value() ? 0 : 1;
    wire.disarm();
    fencing_token token;
    ASSERT_TRUE(bytes % 8 == 0 || taken_soon(other, bob, token));
    EXPECT_EQ(c.release(stock, alice).value(), release_reply::released) << bytes;
    ASSERT_TRUE(other.release(stock, bob).has_value());
  }
  EXPECT_GT(unanswered, 3);
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  EXPECT_EQ(other.force_release(stock).value(), release_reply::released);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost) << "an earlier one's answer";
}

TEST_F(mysql_table, RowsThatNobodyHoldsAreSweptAndTokensGoOnRising) {
  std::string const url = url_of("table", "&keep=0");
  client c(kind, url);
  fencing_token const first = as<grant>(c.acquire(resource("r0"), alice)).fencing;
  ASSERT_TRUE(is<grant>(c.acquire(stock, bob)));
  c.release(resource("r0"), alice).value();
  for (int i = 0; i < 200; ++i) {
    resource const name("r" + std::to_string(i + 1));
    ASSERT_TRUE(is<grant>(c.acquire(name, alice)));
    ASSERT_EQ(c.release(name, alice).value(), release_reply::released);
  }
  std::string const database = database_of(url);
  EXPECT_TRUE(eventually([&] {
    return std::stoi(mariadb().sql("SELECT COUNT(*) FROM `" + database + "`.herdlock_leases")) < 80;
  }));
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed) << "what is held is not swept";
  EXPECT_GT(as<grant>(c.acquire(resource("r0"), bob)).fencing, first);
}

// A lock wait that times out rolls back the statement or, with this option, the transaction.
TEST_F(mysql_base, RowModeWithInnodbRollbackOnTimeout) {
  mariadb_server strict({"--innodb-rollback-on-timeout=ON"});
  std::string const url = strict.url("fault") + "?mode=row";
  client a(kind, url), b(kind, url);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(is<grant>(a.acquire(stock, alice)));
    EXPECT_TRUE(is<busy>(b.acquire(stock, bob)));
    auto waiting = b.start_acquire({stock, bob, 1min, 1min});
    b.inspect(stock).value();
    ASSERT_EQ(a.renew(stock, alice).value(), renew_reply::renewed);
    ASSERT_EQ(a.release(stock, alice).value(), release_reply::released);
    ASSERT_TRUE(is<grant>(b.get(waiting)));
    EXPECT_TRUE(is<busy>(a.acquire(stock, alice)));
    ASSERT_EQ(b.release(stock, bob).value(), release_reply::released);
  }
}

TEST_F(mysql_base, OptionsThatMakeNoSenseAreRefused) {
  asio::io_context io;
  for (std::string const text :
       {"mysql://h", "mysql://h/", "mysql://h/a/b", "mysql://h/d?mode=fast",
        "mysql://h/d?table=a`b", "mysql://h/d?table=", "mysql://h/d?pool=0", "mysql://h/d?pool=x",
        "mysql://h/d?timeout=1ms", "mysql://h/d?cafile=x", "mysql://h/d?tls=maybe",
        "mysql://h/d?tls=on&cert=x", "mysql://h/d?colour=red"}) {
    auto const opened = open_mysql(store_url::parse(text).value(), io.get_executor());
    ASSERT_TRUE(opened.has_error()) << text;
    EXPECT_TRUE(opened.error() == errc::invalid_url) << text;
  }
}

}  // namespace
}  // namespace herdlock_test
