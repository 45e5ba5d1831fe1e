// Refreshes in a file that is also used by builds that know nothing of them.
#include "framed_fixture.hpp"
#include "sqlite_fixture.hpp"

namespace herdlock_test {
namespace {

constexpr char columns[] = "pragma_table_info('herdlock_entries') WHERE name LIKE 'refresh%'";

class sqlite_refresh : public sqlite_store {
 protected:
  keyed_entry const entry = entries_of_both_layouts()[0];

  void make_older() {
    for (std::string const column :
         {"refresh_owner", "refresh_fencing", "refresh_us", "refresh_error"}) {
      run("ALTER TABLE herdlock_entries DROP COLUMN " + column);
    }
    ASSERT_EQ(count(columns), 0);
  }
  void put_old(client& c, milliseconds ttl = 1h) {
    ASSERT_TRUE(c.put(entry.key, entry.old_value, ttl).has_value());
  }
  void refreshed_by(client& c, owner_token const& owner) {
    ASSERT_TRUE(is<claimed>(refresh(c, entry, owner, 2h)));
  }
  // Each so many writes there is a sweep.
  bool swept_to(client& c, std::int64_t entries) {
    return eventually([&] {
      for (int more = 0; more < 64; ++more) c.renew(stock, alice).value();
      return count("herdlock_entries") == entries;
    });
  }
  // What those builds do, but for their function of the time.
  void older_build_writes(std::string const& values) {
    run("INSERT INTO herdlock_entries(key, kind, owner, fencing, expires_us, body) VALUES "
        "(CAST('" +
        entry.key.str() + "' AS BLOB), " + values +
        ") ON CONFLICT(key) DO UPDATE SET "
        "kind = excluded.kind, owner = excluded.owner, fencing = excluded.fencing, "
        "expires_us = excluded.expires_us, body = excluded.body");
  }
};

TEST_F(sqlite_refresh, AnOlderFileGetsRoomForThemAndStaysOfItsVersion) {
  client before(sqlite, url());
  put_old(before);
  make_older();
  client c(sqlite, url());
  EXPECT_EQ(count(columns), 4);
  EXPECT_EQ(count("herdlock_store WHERE version = 3"), 1);
  EXPECT_EQ(text_of(c.look(entry.key)), "old");
  refreshed_by(c, alice);
  EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::stored);
  EXPECT_EQ(text_of(before.look(entry.key)), "new") << "who has it open goes on";
}

TEST_F(sqlite_refresh, AnOlderFileThatIsFullGetsRoomForThem) {
  std::string const bounded = url("?max_bytes=200000");
  client before(sqlite, bounded);
  put_old(before);
  make_older();
  auto next = [i = 0]() mutable { return std::to_string(++i); };
  auto const fill_up = [&](std::string const& value) {
    while (true) {
      std::string const row =
          "(CAST('k" + next() + "' AS BLOB), 3, '', 0, 9e18, CAST('" + value + "' AS BLOB))";
      sqlite3* db = nullptr;
      sqlite3_open(path().c_str(), &db);
      sqlite3_exec(db, "PRAGMA max_page_count = 48", nullptr, nullptr, nullptr);
      int const code = sqlite3_exec(db, ("INSERT INTO herdlock_entries VALUES " + row).c_str(),
                                    nullptr, nullptr, nullptr);
      sqlite3_close(db);
      if (code != SQLITE_OK) return code;
    }
  };
  EXPECT_EQ(fill_up(std::string(3000, 'v')), SQLITE_FULL);
  client c(sqlite, bounded);
  EXPECT_EQ(text_of(c.look(entry.key)), "old");
}

TEST_F(sqlite_refresh, APutOfAnOlderBuildVoidsTheClaimAndTheError) {
  client c(sqlite, url());
  put_old(c);
  refreshed_by(c, alice);
  older_build_writes("3, '', 0, 9000000000000000000, x'61'");
  EXPECT_EQ(c.extend(entry.key, alice, 1min).value(), renew_reply::lost);
  EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::superseded);
  EXPECT_EQ(text_of(c.look(entry.key)), "a");
  put_old(c);
  refreshed_by(c, alice);
  c.fail(entry.key, alice, "no such table", 1h).value();
  older_build_writes("3, '', 0, 1, x'61'");
  EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, 2h)));
}

TEST_F(sqlite_refresh, AClaimOfAnOlderBuildVoidsTheClaim) {
  client c(sqlite, url());
  put_old(c);
  refreshed_by(c, alice);
  older_build_writes("0, '" + bob.str() + "', 7, 9000000000000000000, x''");
  EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::superseded);
  EXPECT_EQ(c.fill(entry.key, bob, entry.new_value).value(), fill_reply::stored);
}

// It may have 64 KiB, and the row stays.
TEST_F(sqlite_refresh, TheTextOfAnErrorGoesWithTheError) {
  client c(sqlite, url());
  std::function<void()> const ends[] = {
      [&] { put_old(c); },
      [&] { EXPECT_TRUE(expire(c, entry.key, 1min).value()); },
      [&] {
        run("UPDATE herdlock_entries SET refresh_us = 1");
        refreshed_by(c, bob);
      },
      [&] {
        run("UPDATE herdlock_entries SET refresh_us = 1, expires_us = 1");
        EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, 0ms)));
      },
  };
  for (auto const& end : ends) {
    ASSERT_TRUE(c.put(entry.key, framed(entry.old_value, entry.form), 1h).has_value());
    refreshed_by(c, alice);
    c.fail(entry.key, alice, "no such table", 1h).value();
    EXPECT_EQ(count("herdlock_entries WHERE refresh_error IS NOT NULL"), 1);
    end();
    EXPECT_EQ(count("herdlock_entries WHERE refresh_error IS NOT NULL"), 0);
    c.invalidate(entry.key).value();
  }
}

// The row of an entry that has ended keeps the claim.
TEST_F(sqlite_refresh, ASweepLeavesTheClaimOnAnEntryThatHasEnded) {
  client c(sqlite, url());
  put_old(c);
  refreshed_by(c, alice);
  ASSERT_TRUE(c.put(cache_key("gone"), std::string("v"), 1h).has_value());
  run("UPDATE herdlock_entries SET expires_us = 1");
  EXPECT_TRUE(swept_to(c, 1));
  EXPECT_EQ(text_of(c.look(entry.key)), "(miss)");
  EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::stored);
  EXPECT_EQ(text_of(c.look(entry.key)), "new");
}

TEST_F(sqlite_refresh, AfterTheClaimItIsSweptAway) {
  client c(sqlite, url());
  put_old(c);
  refreshed_by(c, alice);
  run("UPDATE herdlock_entries SET expires_us = 1, refresh_us = 1");
  EXPECT_TRUE(swept_to(c, 0));
}

}  // namespace
}  // namespace herdlock_test
