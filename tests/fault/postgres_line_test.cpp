// The line of PostgreSQL's table mode: what a process that stands still costs it, and who has left
// it while the server took nothing.
#include <tuple>

#include "postgres_faults.hpp"

namespace herdlock_test {
namespace {

class postgres_line : public postgres_faults {
 protected:
  std::size_t waiting() {
    auto const seen = looks_on_.inspect(stock).value();
    return seen ? seen->waiting : 0;
  }
  bool comes_to(client& by, std::size_t number) {
    return by.run_until([&] { return waiting() == number; });
  }
  // Everybody who has had the lease from now on.
  void note_holders() {
    sql("CREATE TABLE " + table() + "_seen (holder bytea)");
    sql("CREATE FUNCTION " + table() + "_look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
        "INSERT INTO " + table() + "_seen VALUES (NEW.owner); RETURN NULL; END $$");
    sql("CREATE TRIGGER look AFTER UPDATE ON " + table() + " FOR EACH ROW EXECUTE FUNCTION " +
        table() + "_look()");
  }
  int holders_seen() const {
    return std::stoi(sql("SELECT count(DISTINCT holder) FROM " + table() +
                         "_seen WHERE holder <> '' AND holder <> '" + alice.str() + "'"));
  }
  // Everybody whose entry is taken out of the line from now on.
  void note_departures() {
    sql("CREATE TABLE " + table() + "_gone (who bytea)");
    sql("CREATE FUNCTION " + table() + "_goes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " +
        "INSERT INTO " + table() + "_gone VALUES (OLD.owner); RETURN NULL; END $$");
    sql("CREATE TRIGGER goes AFTER DELETE ON " + table() +
        "_waiters FOR EACH ROW EXECUTE FUNCTION " + table() + "_goes()");
  }
  std::string departed() const {
    return sql("SELECT DISTINCT convert_from(who, 'UTF8') FROM " + table() + "_gone");
  }
  // A psql that keeps the lease's row locked.
  std::unique_ptr<child_process> row_locked() const {
    auto made = std::make_unique<child_process>(server().session(url_));
    made->write_line("BEGIN; SELECT * FROM " + table() +
                     " FOR UPDATE; SELECT 'it ' || 'is locked';");
    EXPECT_TRUE(said(*made, "it is locked")) << made->errors();
    return made;
  }
  static void unlock(child_process& by) {
    by.write_line("ROLLBACK; SELECT 'it ' || 'is free';");
    EXPECT_TRUE(said(by, "it is free")) << by.errors();
  }
  // Its leave is behind it on the connection, and in front of this question.
  void give_up(client& by, pending<acquire_reply>& one) {
    one.cancel();
    EXPECT_TRUE(by.run_until([&] { return one.done(); }));
    EXPECT_TRUE(by.inspect(resource("other")).has_value());
  }

  owner_token const carol = owner_token::generate();

 private:
  client looks_on_{postgres, url()};
};
INSTANTIATE_TEST_SUITE_P(modes, postgres_line, testing::Values("table"), mode_name);

// B8: the session of a process that stands still lives on, and with it all of its waiters. The
// clients' executors run only when the test runs them.
TEST_P(postgres_line, AProcessThatStandsStillCostsOneTermHoweverManyOfItsWaitersAreQueued) {
  client c(postgres, url());
  client still(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  std::vector<pending<acquire_reply>> waits;
  for (int i = 0; i < 8; ++i) {
    waits.push_back(still.start_acquire({stock, owner_token::generate(), 1min, 1min}));
  }
  ASSERT_TRUE(comes_to(still, 8));
  auto const bobs = c.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(comes_to(c, 9));
  note_holders();
  c.release(stock, alice).value();
  EXPECT_TRUE(is<grant>(c.get(bobs)));
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
  EXPECT_EQ(holders_seen(), 2) << "bob, and one before him";
  // It goes on: all of its waiters are in the line again.
  EXPECT_TRUE(comes_to(still, 8)) << waiting();
  c.release(stock, bob).value();
  EXPECT_TRUE(still.run_until(
      [&] { return std::ranges::any_of(waits, [](auto const& one) { return one.done(); }); }));
}

// Who lets a grant run out that he had confirmed is no process that stands still.
TEST_P(postgres_line, ALeaseThatRanOutLeavesTheOthersOfItsProcessInTheLine) {
  client c(postgres, url());
  client lives(postgres, url());
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto const first = lives.start_acquire({stock, owner_token::generate(), 1min, 1min});
  ASSERT_TRUE(comes_to(lives, 1));
  auto const carols = lives.start_acquire({stock, carol, 1min, 1min});
  ASSERT_TRUE(comes_to(lives, 2));
  std::ignore = c.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(comes_to(c, 3));
  c.release(stock, alice).value();
  ASSERT_TRUE(is<grant>(lives.get(first)));
  // As if it had been renewed once. Bob's look finds its end, and nobody runs the others.
  sql("UPDATE " + table() +
      " SET expires_at = clock_timestamp(), acquired_at = acquired_at - interval '1 min'");
  EXPECT_TRUE(seen(c, [&] {
    return sql("SELECT convert_from(owner, 'UTF8') FROM " + table()) == carol.str() + "\n";
  }));
}

// B5, B8: an entry that was left stands in the line as long as the session lives.
TEST_P(postgres_line, ALeaveThatIsRefusedIsRepeatedUntilItIsAnswered) {
  client c(postgres, url());
  client waits(postgres, url("&timeout=1s"));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto bobs = waits.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(comes_to(waits, 1));
  auto const other = row_locked();
  give_up(waits, bobs);
  EXPECT_EQ(waiting(), 1U) << "the test's server took the leave";
  unlock(*other);
  EXPECT_TRUE(comes_to(waits, 0));
}

// B5: one who is back in the line, under the same owner, would be thrown out by his old leave; or
// lose what he was granted. Carol's, which is repeated behind his, tells that it would have come.
TEST_P(postgres_line, WhoIsBackInTheLineIsNotThrownOutByHisOldLeave) {
  client c(postgres, url());
  client waits(postgres, url("&timeout=1s"));
  ASSERT_TRUE(is<grant>(c.acquire(stock, alice)));
  auto bobs = waits.start_acquire({stock, bob, 1min, 1min});
  ASSERT_TRUE(comes_to(waits, 1));
  auto carols = waits.start_acquire({stock, carol, 1min, 1min});
  ASSERT_TRUE(comes_to(waits, 2));
  auto const other = row_locked();
  give_up(waits, bobs);
  give_up(waits, carols);
  note_departures();
  unlock(*other);
  auto const again = waits.start_acquire({stock, bob, 1min, 1min});
  EXPECT_TRUE(seen(waits, [&] { return departed().find(carol.str()) != std::string::npos; }));
  EXPECT_EQ(departed(), carol.str() + "\n") << "bob's old leave came, too";
  c.release(stock, alice).value();
  EXPECT_TRUE(is<grant>(waits.get(again)));
  EXPECT_EQ(waits.renew(stock, bob).value(), renew_reply::renewed);
}

}  // namespace
}  // namespace herdlock_test
