// The PostgreSQL store when its server, its connections and its users fail.
#include <signal.h>

#include <herdlock/herdlock.hpp>
#include <thread>

#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

class postgres_tables : public postgres_faults {};
INSTANTIATE_TEST_SUITE_P(modes, postgres_tables, testing::Values("table"), mode_name);

TEST_P(postgres_tables, ALeaseSurvivesACrashOfTheServerAndItsTokensGoOnRising) {
  client c(postgres, url());
  auto const first = as<grant>(c.acquire(stock, alice)).fencing;
  server().restart();
  EXPECT_TRUE(in_the_end([&] { return c.renew(stock, alice).has_value(); }));
  EXPECT_TRUE(is<busy>(c.acquire(stock, bob)));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_GT(as<grant>(c.acquire(stock, bob)).fencing, first);
}

// B12: the wait of one call ends with the server, the lock's goes on after it.
TEST_P(postgres_tables, AWaitThroughACrashOfTheServerIsGrantedAfterIt) {
  auto const store = open_store(url());
  lock const where(store, "stock:1");
  auto held = where.try_acquire({.ttl = 1min});
  client c(postgres, url());
  std::atomic<bool> granted{false};
  std::thread waiter([&] { granted = bool(where.acquire({.ttl = 1min, .wait = patience})); });
  EXPECT_TRUE(eventually([&] { return c.inspect(stock).value()->waiting == 1; }));
  server().restart();
  EXPECT_TRUE(in_the_end([&] {
    auto const info = c.inspect(stock);
    return info && info.value() && info.value()->waiting == 1;
  }));
  EXPECT_FALSE(granted);
  held->release();
  waiter.join();
  EXPECT_TRUE(granted);
}

// B7, B8: the session of a waiter that was killed has gone, and it is passed over at once.
TEST_P(postgres_tables, AKilledWaiterIsSkipped) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto dead = holder("60000");
  ASSERT_TRUE(eventually([&] { return c.inspect(stock).value()->waiting == 1; }));
  auto bobs = c.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(eventually([&] { return c.inspect(stock).value()->waiting == 2; }));
  dead.kill();
  ASSERT_TRUE(eventually([&] {
    return sql("SELECT count(*) FROM pg_stat_activity WHERE datname = 'postgres' AND "
               "application_name = 'herdlock'") == "1\n";
  }));
  c.release(stock, alice).value();
  EXPECT_TRUE(c.run_until([&] { return bobs.done(); }));
  EXPECT_TRUE(is<grant>(bobs.outcome()));
}

// B8: a process that died may leave thousands in one line; the next that lives does not wait until
// each of them was looked at. Each look is a statement that deletes.
TEST_P(postgres_tables, ThousandsOfDeadWaitersArePassedOverInOneStep) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  sql("INSERT INTO " + table() + "_waiters (name, owner, ttl_ms, channel, waiter, pid) SELECT '" +
      stock.str() + "', i::text::bytea, 60000, 'nobody', i, 2147483647 " +
      "FROM generate_series(1, 5000) i");
  auto bobs = c.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(eventually([&] { return c.inspect(stock).value()->waiting == 5001; }));
  sql("CREATE TABLE " + table() + "_seen (number serial)");
  sql("CREATE FUNCTION " + table() + "_look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
      "INSERT INTO " + table() + "_seen DEFAULT VALUES; RETURN NULL; END $$");
  sql("CREATE TRIGGER look AFTER DELETE ON " + table() +
      "_waiters FOR EACH STATEMENT EXECUTE FUNCTION " + table() + "_look()");
  c.release(stock, alice).value();
  EXPECT_TRUE(is<grant>(c.get(bobs)));
  EXPECT_LE(std::stoi(sql("SELECT count(*) FROM " + table() + "_seen")), 10);
}

// A waiter that went leaves the mark behind that somebody waits.
TEST_P(postgres_tables, ARowThatNobodyWaitsForAnyMoreIsSweptWhateverItSays) {
  client(postgres, url()).acquire(stock, alice).value();
  client(postgres, url()).acquire(resource("stock:2"), alice).value();
  sql("UPDATE " + table() + " SET awaited = true, expires_at = now() - interval '11 min'");
  sql("INSERT INTO " + table() + "_waiters (name, owner, ttl_ms, channel, waiter, pid) SELECT " +
      "'stock:2', 'bob', 60000, 'nobody', 1, pid FROM pg_stat_activity WHERE backend_type = " +
      "'checkpointer'");
  client c(postgres, url());  // a connection begins with a sweep
  EXPECT_FALSE(c.inspect(stock).value().has_value());
  EXPECT_TRUE(eventually([&] {
    return sql("SELECT convert_from(name, 'UTF8') FROM " + table()) == "stock:2\n";
  })) << sql("SELECT * FROM " + table());
}

// B8: a waiter that is stopped keeps its session; its turn is short.
TEST_P(postgres_tables, AStoppedWaiterHoldsUpTheLineForItsFirstTermOnly) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto stopped = holder("3600000");
  ASSERT_TRUE(eventually([&] { return c.inspect(stock).value()->waiting == 1; }));
  stopped.pause();
  auto bobs = c.start_acquire({stock, bob, 1min, 1min});
  c.inspect(stock).value();
  c.release(stock, alice).value();
  EXPECT_TRUE(is<grant>(c.get(bobs)));
}

// What doctor prints for that is run in tests/e2e/doctor_sql_test.cpp. Statements in an error would
// be put into one line.
TEST_P(postgres_tables, AUserWhoMayNotCreateTablesIsToldWhoPrintsTheStatements) {
  auto guest = url();
  guest.replace(guest.find("postgres@"), 9, "guest@");
  client c(postgres, guest);
  auto const refused = c.acquire(stock, alice);
  ASSERT_TRUE(refused.error() == errc::access_denied) << refused.error().message;
  EXPECT_NE(refused.error().message.find("herdlock doctor"), std::string::npos)
      << refused.error().message;
  EXPECT_EQ(refused.error().message.find("CREATE TABLE"), std::string::npos);
}

TEST_P(postgres_tables, DroppedTablesAreMadeAgainAndTokensGoOnRising) {
  client c(postgres, url());
  auto const first = as<grant>(c.acquire(stock, alice)).fencing;
  sql("DROP TABLE " + table() + ", " + table() + "_waiters; DROP SEQUENCE " + table() + "_fencing");
  EXPECT_GT(granted_in_the_end(c, bob), first);
}

TEST_P(postgres_tables, TheSweeperRemovesRowsLongFreeAndNoOthers) {
  client(postgres, url()).inspect(stock).value();
  sql("INSERT INTO " + table() +
      " SELECT n::text::bytea, '', n, now(), now() - "
      "CASE WHEN n % 2 = 0 THEN interval '11 min' ELSE interval '1 min' END "
      "FROM generate_series(1, 2000) n");
  client c(postgres, url());
  c.inspect(stock).value();
  EXPECT_TRUE(c.run_until([&] { return sql("SELECT count(*) FROM " + table()) == "1000\n"; }));
  EXPECT_EQ(sql("SELECT count(*) FROM " + table() + " WHERE fencing % 2 = 0"), "0\n");
}

// B7: cut after each byte count of a whole exchange, in both directions. Whatever was lost, the
// same owner finds its own lease, nobody else's is granted twice, and nothing is left behind.
TEST_P(postgres_tables, ACutAnywhereLeavesNoGhostAndGrantsNothingTwice) {
  client judge(postgres, url());
  judge.inspect(stock).value();
  for (auto const way : {direction::to_server, direction::to_client}) {
    relay cutter(server().port());
    client c(postgres, through(cutter));
    for (std::size_t bytes = 0; bytes < 240; bytes += 9) {
      auto const owner = owner_token::generate();
      ASSERT_TRUE(in_the_end([&] { return c.inspect(stock).has_value(); }));
      cutter.cut_after_bytes(way, bytes);
      auto reply = c.acquire(stock, owner);
      fencing_token const first = is<grant>(reply) ? as<grant>(reply).fencing : fencing_token{};
      cutter.disarm();
      ASSERT_TRUE(in_the_end([&] { return is<grant>(reply = c.acquire(stock, owner)); }));
      if (first.value != 0) {
        ASSERT_EQ(as<grant>(reply).fencing, first);
      }
      ASSERT_TRUE(is<busy>(judge.acquire(stock, bob)));
      cutter.cut_after_bytes(way, bytes);
      static_cast<void>(c.release(stock, owner));
      cutter.disarm();
      result<release_reply> released = release_reply::lost;
      ASSERT_TRUE(in_the_end([&] { return (released = c.release(stock, owner)).has_value(); }));
      EXPECT_EQ(*released, release_reply::released) << bytes;
      ASSERT_FALSE(judge.inspect(stock).value().has_value()) << "a ghost after " << bytes;
    }
  }
}

// Whoever has it by now, but not for a lease of its own that was taken from it afterwards.
TEST_P(postgres_tables, AReleaseThatIsAskedAgainTellsItsFirstAnswer) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  ASSERT_TRUE(is<grant>(c.acquire(stock, bob)));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  ASSERT_EQ(c.release(stock, bob).value(), release_reply::released);
  ASSERT_TRUE(is<grant>(c.acquire(stock, bob)));
  ASSERT_EQ(c.force_release(stock).value(), release_reply::released);
  EXPECT_EQ(c.release(stock, bob).value(), release_reply::lost) << "an earlier one's answer";
}

class postgres_every_mode : public postgres_faults {};
INSTANTIATE_TEST_SUITE_P(modes, postgres_every_mode, testing::Values("table", "advisory", "row"),
                         mode_name);

// What a role or a database is set to does not matter.
TEST_P(postgres_every_mode, AUserWhoseBytesAreWrittenInTheOldWayLocksAsAnyOther) {
  auto const role = "old_way_" + table();
  sql("CREATE ROLE " + role + " LOGIN SUPERUSER; ALTER ROLE " + role +
      " SET bytea_output = escape");
  auto old_way = url();
  old_way.replace(old_way.find("postgres@"), 8, role);
  client c(postgres, old_way);
  EXPECT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const held = c.list({});
  ASSERT_EQ(held->names.size(), 1u);
  EXPECT_EQ(held->names[0], stock);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
}

TEST_P(postgres_every_mode, AKilledHoldersLeaseGoesToTheNext) {
  auto dead = holder("1000");
  ASSERT_TRUE(said(dead, "held"));
  client c(postgres, url());
  ASSERT_TRUE(is<busy>(c.acquire(stock, bob)));
  dead.kill();
  EXPECT_TRUE(is<grant>(c.get(c.start_acquire({stock, bob, 1min, 1min}))));
}

// B1: stopped past its time and continued, it knows before it acts.
TEST_P(postgres_every_mode, AHolderStoppedPastItsTimeKnowsThatItLost) {
  auto stopped = holder("1000");
  ASSERT_TRUE(said(stopped, "held"));
  stopped.pause();
  client c(postgres, url());
  auto const next = c.get(c.start_acquire({stock, bob, 1min, 1min}));
  ASSERT_TRUE(is<grant>(next));
  stopped.resume();
  EXPECT_TRUE(said(stopped, "lost"));
  stopped.signal(SIGUSR1);
  EXPECT_TRUE(said(stopped, "valid 0"));
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
}

TEST_P(postgres_every_mode, AWrongPasswordIsSaidAndNotShown) {
  auto wrong = url();
  wrong.replace(wrong.find("postgres@"), 9, "stranger:hunter2@");
  client c(postgres, wrong);
  auto const refused = c.acquire(stock, alice);
  EXPECT_TRUE(refused.error() == errc::access_denied) << refused.error().message;
  EXPECT_NE(refused.error().message.find("stock:1"), std::string::npos);
  EXPECT_EQ(refused.error().message.find("hunter2"), std::string::npos);
}

TEST_P(postgres_every_mode, ADeadServerIsUnavailableAtOnce) {
  relay nobody(server().port());
  nobody.refuse();
  client c(postgres, through(nobody));
  auto const refused = c.acquire(stock, alice);
  EXPECT_TRUE(refused.error() == errc::unavailable) << refused.error().message;
  nobody.accept();
  EXPECT_TRUE(in_the_end([&] { return is<grant>(c.acquire(stock, alice)); }));
}

// A black hole: each call ends by its deadline, and the next finds a new connection.
TEST_P(postgres_every_mode, ASilentServerTimesOutAndIsLeft) {
  relay hole(server().port());
  client c(postgres, through(hole, "&timeout=1s"));
  ASSERT_TRUE(in_the_end([&] { return c.inspect(stock).has_value(); }));
  hole.stop_forwarding();
  auto const late = c.acquire(stock, alice);
  ASSERT_FALSE(late.has_value());
  EXPECT_TRUE(late.error() == errc::timed_out || late.error() == errc::unavailable);
  hole.resume_forwarding();
  EXPECT_TRUE(in_the_end([&] { return is<grant>(c.acquire(stock, alice)); }));
}

// B19: names are bytes, whatever the database's collation thinks.
TEST_P(postgres_every_mode, NamesThatDifferInCaseOrATrailingSpaceAreTwo) {
  client c(postgres, url());
  for (auto const* name : {"stock", "Stock", "stock "}) {
    EXPECT_TRUE(is<grant>(c.acquire(resource(name), alice))) << name;
  }
}

TEST_P(postgres_every_mode, BadOptionsAreRefusedWithASentence) {
  for (auto const* bad : {"&table=x;y", "&timeout=0", "&timeout=6m", "&sessions=0", "&nonsense=1",
                          "&max_pending=none", "&table=Upper", "&table=no.such.thing"}) {
    auto const plain = url_.substr(0, url_.find('?')) + "?mode=" + GetParam();
    auto const parsed = store_url::parse(plain + bad).value();
    asio::io_context io;
    auto const opened = open_postgres(parsed, io.get_executor());
    ASSERT_TRUE(opened.has_error()) << bad;
    EXPECT_TRUE(opened.error() == errc::invalid_url) << opened.error().message;
  }
}

}  // namespace
}  // namespace herdlock_test
