// The rows of leases: what becomes of those that are over, and of their tokens.
#include "sqlite_fixture.hpp"

namespace herdlock_test {
namespace {

constexpr std::int64_t ahead = 4'000'000'000'000'000;  // of the wall clock

// The same where only the row of the lease knows how far the tokens were, and after it has gone.
TEST_F(sqlite_store, FencingGoesOnFromALeaseThatWasReleasedSweptOrFromBeforeAReboot) {
  auto const granted_to = [this](client& c, owner_token const& owner) {
    return static_cast<std::int64_t>(
        as<grant>(c.acquire(stock, owner, limits::max_ttl)).fencing.value);
  };
  {
    client c(sqlite, url());
    EXPECT_LT(granted_to(c, alice), ahead);
    run("UPDATE herdlock_leases_3 SET fencing = " + std::to_string(ahead));
    c.release(stock, alice).value();
    EXPECT_EQ(granted_to(c, bob), ahead + 1);
    c.release(stock, bob).value();
  }
  sweep_what_was_given_back();
  EXPECT_EQ(count("herdlock_leases_3"), 0);
  {
    client c(sqlite, url());
    EXPECT_EQ(granted_to(c, alice), ahead + 2);
  }
  run("UPDATE herdlock_store SET boot_id = 'another boot'");
  client c(sqlite, url());
  EXPECT_EQ(granted_to(c, bob), ahead + 3);
}

// Leases that are abandoned and entries that expire don't pile up.
TEST_F(sqlite_store, WhatExpiredIsSweptAway) {
  client c(sqlite, url());
  for (int i = 0; i < 300; ++i) {
    c.acquire(resource("lease:" + std::to_string(i)), alice, 10ms).value();
    c.put(cache_key("entry:" + std::to_string(i)), std::string("v"), 10ms).value();
  }
  int i = 0;
  EXPECT_TRUE(eventually([&] {
    for (int more = 0; more < 64; ++more) c.renew(stock, alice).value();
    return ++i > 2 && count("herdlock_leases_3") == 0 && count("herdlock_entries") == 0;
  }));
}

// A process for each job: none is there for long enough to sweep now and then.
TEST_F(sqlite_store, WhatShortLivedProcessesLeaveIsSweptAway) {
  for (int i = 0; i < 5; ++i) {
    take_and_give_back(resource("job:" + std::to_string(i)));
    make_old_what_was_given_back();
  }
  EXPECT_EQ(count("herdlock_leases_3"), 1) << "the last one, which no process came behind";
}

// One sweep goes through 256 rows; the next goes on where it was.
TEST_F(sqlite_store, WhatExpiredBehindManyThatAreHeldIsSweptAwayToo) {
  client c(sqlite, url());
  constexpr int held = 600;
  for (int i = 0; i < held; ++i) c.acquire(resource("a:" + std::to_string(i)), alice).value();
  for (int i = 0; i < 10; ++i) c.acquire(resource("b:" + std::to_string(i)), alice, 10ms).value();
  EXPECT_TRUE(eventually([&] {
    for (int more = 0; more < 64; ++more) c.renew(stock, alice).value();
    return count("herdlock_leases_3") == held;
  }));
}

// Nor behind many others, though each of the processes sweeps but one part of the rows.
TEST_F(sqlite_store, WhatShortLivedProcessesLeaveBehindManyIsSweptAway) {
  client c(sqlite, url());
  constexpr int held = 600;
  for (int i = 0; i < held; ++i) c.acquire(resource("a:" + std::to_string(i)), alice).value();
  for (int i = 0; i < 30; ++i) {
    take_and_give_back(resource("job:" + std::to_string(i)));
    make_old_what_was_given_back();
  }
  EXPECT_LT(count("herdlock_leases_3"), held + 5);
}

struct older_form {
  char const* name;
  char const* version;
  char const* tree;  ///< one of its own for names, or not
};

class sqlite_older_file : public sqlite_store, public testing::WithParamInterface<older_form> {
 protected:
  // What the older builds would have made of the file; all tokens are far ahead.
  void make_older() {
    auto const& form = GetParam();
    std::string const version = form.version;
    bool const has_index = std::string(form.name) == "first";
    if (version == "1") run("ALTER TABLE herdlock_store DROP COLUMN swept");
    run("UPDATE herdlock_store SET version = " + version +
        ";CREATE TABLE herdlock_leases(resource BLOB PRIMARY KEY NOT NULL, owner TEXT NOT NULL, "
        "fencing INTEGER NOT NULL, expires_us INTEGER NOT NULL) " +
        form.tree +
        (has_index ? ";CREATE INDEX herdlock_leases_expires ON herdlock_leases(expires_us)" : "") +
        ";INSERT INTO herdlock_leases SELECT resource, owner, " + std::to_string(ahead) +
        ", expires_us FROM herdlock_leases_3;DROP TABLE herdlock_leases_3");
  }
};

TEST_P(sqlite_older_file, IsBroughtUpToDateWithAllThatIsHeld) {
  client before(sqlite, url());
  before.acquire(stock, alice, limits::max_ttl).value();
  make_older();
  client c(sqlite, url());
  EXPECT_TRUE(is<busy>(c.acquire(stock, bob)));
  EXPECT_EQ(as<grant>(c.acquire(stock, alice)).fencing.value, static_cast<std::uint64_t>(ahead));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_EQ(as<grant>(c.acquire(stock, bob)).fencing.value, static_cast<std::uint64_t>(ahead + 1));
  EXPECT_EQ(count("herdlock_store WHERE version = 3 AND swept = x''"), 1);
  EXPECT_EQ(count("sqlite_schema WHERE tbl_name = 'herdlock_leases'"), 0)
      << "an older build that has it open would go on";
}

TEST_P(sqlite_older_file, IsBroughtUpToDateWhenItIsFull) {
  std::string const bounded = url("?max_bytes=200000");
  client before(sqlite, bounded);
  before.acquire(stock, alice, limits::max_ttl).value();
  for (int i = 0; i < 200; ++i) {
    before.acquire(resource(std::string(200, 'x') + std::to_string(i)), bob).value();
  }
  before.put(key, std::string("kept"), 1h).value();
  make_older();
  int entries = 0;
  while (before.put(cache_key("k" + std::to_string(entries)), std::string(3000, 'v'))) ++entries;
  EXPECT_GT(entries, 10);
  client c(sqlite, bounded);
  EXPECT_TRUE(is<busy>(c.acquire(stock, bob)));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_EQ(text_of(c.look(key)), "kept");
}

TEST_P(sqlite_older_file, FromBeforeARebootKeepsNothingButItsTokens) {
  client before(sqlite, url());
  before.acquire(stock, alice, limits::max_ttl).value();
  make_older();
  run("UPDATE herdlock_store SET boot_id = 'another boot'");
  client c(sqlite, url());
  EXPECT_EQ(as<grant>(c.acquire(stock, bob)).fencing.value, static_cast<std::uint64_t>(ahead + 1));
}

INSTANTIATE_TEST_SUITE_P(forms, sqlite_older_file,
                         testing::Values(older_form{"first", "1", "STRICT"},
                                         older_form{"second", "1", "STRICT, WITHOUT ROWID"},
                                         older_form{"third", "2", "STRICT, WITHOUT ROWID"}),
                         [](auto const& form) { return std::string(form.param.name); });

}  // namespace
}  // namespace herdlock_test
