// An SQLite store's file, seen from outside.
#pragma once

#include <sqlite3.h>

#include "fixture.hpp"
#include "stores/sqlite/sqlite_store.hpp"

namespace herdlock_test {

inline store_case const sqlite{"sqlite", {}, &open_sqlite};

class sqlite_store : public testing::Test {
 protected:
  std::string path(std::string const& file = "store.db") const {
    return (scratch_ / file).string();
  }
  std::string url(std::string const& options = "") const { return "sqlite:" + path() + options; }

  static failure refusal(std::string const& text) {
    asio::io_context io;
    auto opened = open_sqlite(store_url::parse(text).value(), io.get_executor());
    EXPECT_FALSE(opened.has_value()) << text;
    if (opened) return {};
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos);
    return opened.error();
  }

  // Runs SQL on the file as another program would.
  void run(std::string const& sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 10'000);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_free(message);
    sqlite3_close(db);
  }

  std::int64_t count(std::string const& table) {
    sqlite3* db = nullptr;
    sqlite3_stmt* query = nullptr;
    EXPECT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    std::string sql = "SELECT count(*) FROM " + table;
    EXPECT_EQ(sqlite3_prepare_v2(db, sql.c_str(), -1, &query, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(query), SQLITE_ROW);
    std::int64_t rows = sqlite3_column_int64(query, 0);
    sqlite3_finalize(query);
    sqlite3_close(db);
    return rows;
  }

  // As a process that is there for one job only.
  void take_and_give_back(resource const& job) {
    client brief(sqlite, url());
    brief.acquire(job, alice).value();
    brief.release(job, alice).value();
  }

  // Its owner asks no more by then.
  void make_old_what_was_given_back() {
    run("UPDATE herdlock_leases_3 SET expires_us = -1 WHERE expires_us < 0");
  }

  // By the next process.
  void sweep_what_was_given_back() {
    make_old_what_was_given_back();
    client(sqlite, url()).renew(stock, alice).value();
  }

  temp_dir scratch_;
  resource const stock{"stock:1"};
  cache_key const key{"product:1"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
};

}  // namespace herdlock_test
