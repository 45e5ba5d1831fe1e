// The guards for the guarded side, on real databases: a stale holder writes nothing.
#include <gtest/gtest.h>
#include <mysql.h>
#include <sqlite3.h>
#include <herdlock/fencing.hpp>
#include <herdlock/herdlock.hpp>

#include <memory>
#include <support/child_process.hpp>
#include <support/mariadb_server.hpp>
#include <support/redis_server.hpp>

namespace herdlock_test {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

// A holder whose lease ended under it, and its successor: real tokens in the order of their grants.
struct two_holders {
  std::uint64_t stale = 0;
  std::uint64_t present = 0;

  two_holders() {
    auto const store = open_store("memory:");
    lock const where(store, "account/1");
    stale = token_of(where);
    present = token_of(where);
  }
  static std::uint64_t token_of(lock const& where) {
    auto held = where.try_acquire({.ttl = 30s});
    auto const token = held->fencing().value;
    held->release();
    return token;
  }
};

// ---------------------------------------------------------------------------------- SQLite

class sqlite_accounts {
 public:
  sqlite_accounts() {
    EXPECT_EQ(sqlite3_open(":memory:", &db_), SQLITE_OK);
    run("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER)");
    run("INSERT INTO account VALUES (1, 0, NULL)");
  }
  ~sqlite_accounts() { sqlite3_close(db_); }
  sqlite_accounts(sqlite_accounts const&) = delete;
  sqlite_accounts& operator=(sqlite_accounts const&) = delete;

  int write(std::uint64_t token, int balance) {
    auto const fence = sql_fence::on("fence", "?2");
    std::string const sql = "UPDATE account SET balance = ?1, " + fence.assignment +
                            " WHERE id = 1 AND " + fence.predicate;
    sqlite3_stmt* update = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &update, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db_);
    sqlite3_bind_int(update, 1, balance);
    sqlite3_bind_int64(update, 2, static_cast<sqlite3_int64>(token));
    EXPECT_EQ(sqlite3_step(update), SQLITE_DONE);
    sqlite3_finalize(update);
    return sqlite3_changes(db_);
  }
  int balance() {
    sqlite3_stmt* query = nullptr;
    sqlite3_prepare_v2(db_, "SELECT balance FROM account", -1, &query, nullptr);
    sqlite3_step(query);
    int const found = sqlite3_column_int(query, 0);
    sqlite3_finalize(query);
    return found;
  }

 private:
  void run(char const* sql) {
    EXPECT_EQ(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
  }
  sqlite3* db_ = nullptr;
};

TEST(FencingGuard, SqliteRefusesAStaleHoldersUpdate) {
  two_holders const holders;
  sqlite_accounts table;
  EXPECT_EQ(table.write(holders.stale, 10), 1);  // while it was the holder
  EXPECT_EQ(table.write(holders.stale, 11), 1);  // more than once
  EXPECT_EQ(table.write(holders.present, 20), 1);
  EXPECT_EQ(table.write(holders.stale, 12), 0);  // it wakes up
  EXPECT_EQ(table.balance(), 20);
}

// --------------------------------------------------------------------------------- MariaDB

class mariadb_accounts {
 public:
  mariadb_accounts() {
    auto& server = mariadb_server::shared();
    server.url("fencing");
    server.sql(
        "DROP TABLE IF EXISTS fencing.account; CREATE TABLE fencing.account (id INT PRIMARY KEY, "
        "balance INT, fence BIGINT UNSIGNED); INSERT INTO fencing.account VALUES (1, 0, NULL)");
    if (!mysql_real_connect(db_.get(), "127.0.0.1", "root", "", "fencing", server.port(), nullptr,
                            CLIENT_FOUND_ROWS)) {
      throw std::runtime_error(mysql_error(db_.get()));
    }
  }

  std::uint64_t write(std::uint64_t token, int balance) {
    auto const fence = sql_fence::on("fence");
    std::string const sql = "UPDATE account SET balance = ?, " + fence.assignment +
                            " WHERE id = 1 AND " + fence.predicate;
    std::unique_ptr<MYSQL_STMT, decltype(&close)> update(mysql_stmt_init(db_.get()), &close);
    EXPECT_EQ(mysql_stmt_prepare(update.get(), sql.data(), sql.size()), 0)
        << mysql_stmt_error(update.get());
    MYSQL_BIND bound[3] = {};
    bound[0].buffer_type = MYSQL_TYPE_LONG;
    bound[0].buffer = &balance;
    for (auto* one : {&bound[1], &bound[2]}) {
      one->buffer_type = MYSQL_TYPE_LONGLONG;
      one->buffer = &token;
      one->is_unsigned = 1;
    }
    EXPECT_EQ(mysql_stmt_bind_param(update.get(), bound), 0);
    EXPECT_EQ(mysql_stmt_execute(update.get()), 0) << mysql_stmt_error(update.get());
    return mysql_stmt_affected_rows(update.get());
  }
  std::string row() {
    return mariadb_server::shared().sql("SELECT balance, fence FROM fencing.account");
  }

 private:
  static void close(MYSQL_STMT* statement) { mysql_stmt_close(statement); }
  std::unique_ptr<MYSQL, decltype(&mysql_close)> db_{mysql_init(nullptr), &mysql_close};
};

TEST(FencingGuard, MariadbRefusesAStaleHoldersUpdate) {
  two_holders const holders;
  mariadb_accounts table;
  EXPECT_EQ(table.write(holders.stale, 10), 1u);
  EXPECT_EQ(table.write(holders.stale, 10), 1u);  // the very same row: found, if not changed
  EXPECT_EQ(table.write(holders.present, 20), 1u);
  EXPECT_EQ(table.write(holders.stale, 12), 0u);
  EXPECT_EQ(table.row(), "20\t" + std::to_string(holders.present) + "\n");
}

// ----------------------------------------------------------------------------------- Redis

struct redis_guard : testing::Test {
  redis_guard() { server.flush(); }
  std::string write(std::string const& token, std::string const& value,
                    std::string const& ttl = "0") {
    return server.command(
        {"EVAL", std::string(set_if_fenced_script), "2", "k", "{k}:fenced", token, value, ttl});
  }
  redis_server& server = redis_server::shared();
};

TEST_F(redis_guard, AStaleHoldersWriteIsRefusedAndChangesNothing) {
  two_holders const holders;
  auto const stale = std::to_string(holders.stale);
  auto const present = std::to_string(holders.present);
  EXPECT_EQ(write(stale, "old"), "1");
  EXPECT_EQ(write(stale, "older"), "1");  // the holder writes more than once
  EXPECT_EQ(write(present, "new", "3600000"), "1");
  EXPECT_EQ(write(stale, "late"), "0");
  EXPECT_EQ(server.cli("GET k"), "new");
  EXPECT_EQ(server.cli("GET {k}:fenced"), present);
  EXPECT_GT(std::stol(server.cli("PTTL k")), 3'300'000);
  EXPECT_EQ(server.cli("PTTL {k}:fenced"), "-1");
}

TEST_F(redis_guard, AValueThatExpiredDoesNotLetTheLateWriterIn) {
  EXPECT_EQ(write("8", "new", "1"), "1");
  ASSERT_TRUE(eventually([&] { return server.cli("EXISTS k") == "0"; }));
  EXPECT_EQ(write("7", "late"), "0");
  EXPECT_EQ(server.cli("EXISTS k"), "0");
}

// Lua's numbers are doubles: 2^53 and 2^53 + 1 are the same there, and so is all near 2^64.
TEST_F(redis_guard, TokensAreComparedExactlyUpTo64Bits) {
  std::string const rising[] = {"9",
                                "10",
                                "99",
                                "100",
                                "9007199254740992",
                                "9007199254740993",
                                "9223372036854775807",
                                "9223372036854775808",
                                "9999999999999999999",
                                "18446744073709551614",
                                "18446744073709551615"};
  std::string last;
  for (auto const& token : rising) {
    EXPECT_EQ(write(token, token), "1") << token;
    if (!last.empty()) {
      EXPECT_EQ(write(last, "late"), "0") << last << " after " << token;
    }
    last = token;
  }
  EXPECT_EQ(server.cli("GET k"), last);
}

TEST_F(redis_guard, WhatIsNoTokenOrNoTtlIsAnErrorAndChangesNothing) {
  EXPECT_EQ(write("5", "v"), "1");
  for (char const* token : {"0", "", "-1", "+6", "07", "6.0", "6e1", "six", " 6", "6\n",
                            "18446744073709551616", "100000000000000000000"}) {
    EXPECT_NE(write(token, "x").find("fencing token"), std::string::npos) << token;
  }
  for (char const* ttl : {"", "-1", "1.5", "soon", "1000000000000000"}) {
    EXPECT_NE(write("6", "x", ttl).find("fencing ttl"), std::string::npos) << ttl;
  }
  EXPECT_EQ(server.cli("GET k"), "v");
  EXPECT_EQ(server.cli("GET {k}:fenced"), "5");
  server.cli("SET {k}:fenced junk");
  EXPECT_NE(write("6", "x").find("holds no token"), std::string::npos);
  server.cli("DEL {k}:fenced");
  server.cli("RPUSH {k}:fenced a");
  EXPECT_NE(write("6", "x").find("WRONGTYPE"), std::string::npos);
  EXPECT_EQ(server.cli("GET k"), "v");
}

TEST_F(redis_guard, TheHashIsThatOfTheText) {
  EXPECT_EQ(server.command({"SCRIPT", "LOAD", std::string(set_if_fenced_script)}),
            set_if_fenced_sha1);
}

// Any client will do: redis-cli as a shell script would call it.
TEST_F(redis_guard, RunsByItsHashFromRedisCli) {
  server.command({"SCRIPT", "LOAD", std::string(set_if_fenced_script)});
  auto const cli = [&](std::string const& token, std::string const& value) {
    return run_command(
        {.argv = {find_program("redis-cli", "redis-tools"), "-p", std::to_string(server.port()),
                  "EVALSHA", std::string(set_if_fenced_sha1), "2", "k", "{k}:fenced", token, value,
                  "0"}});
  };
  EXPECT_EQ(cli("9007199254740993", "new"), "1\n");
  EXPECT_EQ(cli("9007199254740992", "late"), "0\n");
  EXPECT_EQ(server.cli("GET k"), "new");
}

}  // namespace
}  // namespace herdlock_test
