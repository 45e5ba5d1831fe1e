// PostgreSQL when its answers don't come, and what it had answered before it crashed.
#include <signal.h>

#include <support/child_process.hpp>
#include <support/postgres_server.hpp>
#include <support/relay.hpp>

#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

class postgres_blocked : public testing::TestWithParam<std::string> {
 protected:
  static postgres_server& server() { return postgres_server::shared(); }
  std::string url(std::string const& options = "") const {
    return url_ + "&mode=" + GetParam() + options;
  }
  std::string table() const { return url_.substr(url_.find("table=") + 6); }

  // A psql that keeps a transaction open.
  std::unique_ptr<child_process> in_transaction(std::string const& statement) const {
    auto made = std::make_unique<child_process>(server().session(url_));
    made->write_line("BEGIN; " + statement + "; SELECT 'it ' || 'is locked';");
    EXPECT_TRUE(eventually([&] {
      return made->output().find("it is locked") != made->output().npos;
    })) << made->errors();
    return made;
  }

  std::string const url_ = server().fresh_url();
  resource const stock{"stock:1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

auto const mode_of_postgres = [](auto const& one) { return one.param; };
class postgres_blocked_table : public postgres_blocked {};
INSTANTIATE_TEST_SUITE_P(modes, postgres_blocked_table, testing::Values("table"), mode_of_postgres);
class postgres_blocked_session : public postgres_blocked {};
INSTANTIATE_TEST_SUITE_P(modes, postgres_blocked_session, testing::Values("advisory", "row"),
                         mode_of_postgres);
class postgres_blocked_row : public postgres_blocked {};
INSTANTIATE_TEST_SUITE_P(modes, postgres_blocked_row, testing::Values("row"), mode_of_postgres);
class postgres_blocked_any : public postgres_blocked {};
INSTANTIATE_TEST_SUITE_P(modes, postgres_blocked_any, testing::Values("table", "advisory", "row"),
                         mode_of_postgres);

// All commands travel on one connection; a row that somebody locks costs the others a moment.
TEST_P(postgres_blocked_table, ARowThatAForeignTransactionLocksIsToldAndHoldsUpNobodyElseForLong) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const other = in_transaction("SELECT * FROM " + table() + " FOR UPDATE");
  auto const renewing = c.start<renew_reply>(
      [&](auto done) { c.store().leases->renew(stock, alice, 1min, std::move(done)); });
  auto const granted = c.acquire(resource("other"), bob);
  EXPECT_TRUE(is<grant>(granted)) << granted.error().message;
  auto const late = c.get(renewing);
  ASSERT_FALSE(late.has_value());
  EXPECT_TRUE(late.error() == errc::timed_out) << late.error().message;
  EXPECT_NE(late.error().message.find("row locked"), std::string::npos) << late.error().message;
  EXPECT_NE(late.error().message.find("stock:1"), std::string::npos) << late.error().message;
  other->write_line("ROLLBACK;");
  EXPECT_TRUE(eventually([&] { return c.renew(stock, alice).has_value(); }));
}

// B7: a process of the server whose client has gone does not stay in the line for the row. Its
// lock_timeout, a tenth of the timeout, would end it much later.
TEST_P(postgres_blocked_table, AConnectionThatWasCutLeavesNobodyWaitingForTheRow) {
  relay wire(server().port());
  client c(postgres, postgres_server::through(url("&timeout=5m"), server().port(), wire.port()));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const other = in_transaction("SELECT * FROM " + table() + " FOR UPDATE");
  auto const renewing = c.start<renew_reply>(
      [&](auto done) { c.store().leases->renew(stock, alice, 1min, std::move(done)); });
  auto const waiting = [&] {
    return server().sql(url_, "SELECT count(*) FROM pg_locks WHERE NOT granted");
  };
  ASSERT_TRUE(c.run_until([&] { return waiting() != "0\n"; }));
  wire.refuse();
  EXPECT_TRUE(eventually(std::chrono::seconds{15}, [&] { return waiting() == "0\n"; }));
}

// A grant is the server's for good when it is told, whatever the server's own default: else a
// crash would give it, or its token, twice.
TEST_P(postgres_blocked_table, AGrantOutlivesACrashOfAServerThatDoesNotWaitForItsLog) {
  postgres_server hasty({"synchronous_commit=off", "wal_writer_delay=10s"});
  client c(postgres, hasty.fresh_url());
  c.inspect(stock).value();
  hasty.sql(hasty.fresh_url(), "CHECKPOINT");
  auto const first = as<grant>(c.acquire(stock, alice)).fencing;
  hasty.restart();
  EXPECT_TRUE(eventually([&] { return is<busy>(c.acquire(stock, bob)); }));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_GT(as<grant>(c.acquire(stock, bob)).fencing, first);
}

// B1: told of the loss before the renewal's own deadline, not of a delay.
TEST_P(postgres_blocked_session, AHolderWhoseSessionIsSilentHasLost) {
  relay wire(server().port());
  client c(postgres, postgres_server::through(url("&timeout=1s"), server().port(), wire.port()));
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice, 1h)); }));
  wire.stop_forwarding();
  auto const told = c.renew(stock, alice, 1h);
  ASSERT_TRUE(told.has_value()) << told.error().message;
  EXPECT_EQ(*told, renew_reply::lost);
  wire.resume_forwarding();
  client other(postgres, url());
  EXPECT_TRUE(is<grant>(other.get(other.start_acquire({stock, bob, 1min, 1min}))));
}

// The same where its process stood still until the renewal was late, too.
TEST_P(postgres_blocked_session, AHolderThatStoodStillWhileItsSessionWasSilentHasLost) {
  relay wire(server().port());
  client c(postgres, postgres_server::through(url("&timeout=1s"), server().port(), wire.port()));
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, alice, 1h)); }));
  wire.stop_forwarding();
  auto const began = herdlock::clock::now();
  auto const renewing = c.start<renew_reply>(
      [&](auto done) { c.store().leases->renew(stock, alice, 1h, std::move(done)); });
  ASSERT_TRUE(eventually([&] { return herdlock::clock::now() > began + 1s; }));
  auto const told = c.get(renewing);
  ASSERT_TRUE(told.has_value()) << told.error().message;
  EXPECT_EQ(*told, renew_reply::lost);
}

// A release is told when the server has it, with and without somebody who waits in the same store.
TEST_P(postgres_blocked_session, AReleaseIsNotToldBeforeTheServerHasIt) {
  for (bool const awaited : {false, true}) {
    client c(postgres, url("&timeout=500ms"));
    ASSERT_TRUE(eventually([&] {
      return is<grant>(c.get(c.start_acquire({stock, alice, 1min, 1min})));
    }));
    if (awaited) {
      static_cast<void>(c.start_acquire({stock, bob, 1min, 1min}));
      ASSERT_TRUE(eventually([&] {
        auto const seen = c.inspect(stock);
        return seen.has_value() && *seen && (*seen)->waiting == 1;
      }));
    }
    server().pause();
    auto const told = c.release(stock, alice);
    server().resume();
    EXPECT_FALSE(told.has_value() && *told == release_reply::released) << awaited;
  }
}

// 55P03: another session has the row.
TEST_P(postgres_blocked_row, ARowThatSomebodyLocksByHandIsBusy) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  auto const other = in_transaction("SELECT * FROM " + table() + "_rows FOR UPDATE");
  auto const refused = c.acquire(stock, alice);
  ASSERT_TRUE(is<busy>(refused)) << refused.error().message;
  EXPECT_EQ(as<busy>(refused).holder, "another client");
  auto const waited = c.get(c.start_acquire({stock, alice, 1min, 50ms}));
  EXPECT_TRUE(is<busy>(waited)) << waited.error().message;
  other->write_line("ROLLBACK;");
  EXPECT_TRUE(is<grant>(c.get(c.start_acquire({stock, alice, 1min, 1min}))));
}

// B10: between processes, too, the next in line has it in the moment of the release, here before
// its own process of the server can have noticed.
TEST_P(postgres_blocked_session, ANewcomerDoesNotPassTheNextInLineOfAnotherProcess) {
  client holder(postgres, url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice)));
  client c(postgres, url());
  auto const waiting = c.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(c.run_until([&] { return holder.inspect(stock).value()->waiting == 1; }));
  auto const waiter = std::stoi(
      server().sql(url_, "SELECT pid FROM pg_locks WHERE NOT granted AND locktype = 'advisory'"));
  ASSERT_EQ(::kill(waiter, SIGSTOP), 0);
  EXPECT_EQ(holder.release(stock, alice).value(), release_reply::released);
  client newcomer(postgres, url());
  auto const refused = newcomer.acquire(stock, alice);
  ::kill(waiter, SIGCONT);
  EXPECT_TRUE(is<busy>(refused)) << refused.error().message;
  EXPECT_TRUE(is<grant>(c.get(waiting)));
}

// A session that has taken the lock says for whom in the same step. Until it has said so nobody
// was granted anything, however long its process of the server takes.
TEST_P(postgres_blocked_row, ALockThatIsBeingGrantedIsNobodysYet) {
  client c(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  ASSERT_EQ(c.release(stock, alice).value(), release_reply::released);
  auto const granting = in_transaction("SET application_name = 'herdlock'; SELECT * FROM " +
                                       table() + "_rows FOR UPDATE");
  EXPECT_FALSE(c.inspect(stock).value().has_value());
  auto const refused = c.acquire(stock, alice);
  ASSERT_TRUE(is<busy>(refused)) << refused.error().message;
  EXPECT_EQ(as<busy>(refused).holder, "");
}

TEST_P(postgres_blocked_session, OthersSeeTheHoldersTimeRunOut) {
  client holder(postgres, url());
  ASSERT_TRUE(is<grant>(holder.acquire(stock, alice, 1min)));
  client c(postgres, url());
  EXPECT_TRUE(eventually([&] { return c.inspect(stock).value()->remaining < 1min; }));
}

// Looked at by the leak sanitizer, too.
TEST_P(postgres_blocked_any, AStoreThatIsConnectingToASilentServerCanBeClosed) {
  relay hole(server().port());
  for (std::size_t const bytes : {0, 1, 50, 300, 700, 1500}) {
    client c(postgres, postgres_server::through(url("&timeout=1m"), server().port(), hole.port()));
    hole.cut_after_bytes(direction::to_client, bytes);
    if (bytes == 0) hole.stop_forwarding();
    auto const asked = c.start_acquire({stock, alice, 1min, 1min});
    auto const before = hole.connections_ever();
    ASSERT_TRUE(c.run_until([&] { return asked.done() || hole.connections_ever() > before; }));
    c.close();
    EXPECT_TRUE(asked.done());
    hole.disarm();
    hole.resume_forwarding();
    EXPECT_TRUE(eventually([&] { return hole.connections() == 0; }));
  }
}

}  // namespace
}  // namespace herdlock_test
