// Example 4: a table that refuses a holder who is late.
//
// A lock alone cannot stop a process that was paused between its last look at the clock and its
// write. The table can: it keeps the largest fencing token it has seen, and the UPDATE compares.
#include <sqlite3.h>

#include <herdlock/herdlock.hpp>
#include <iostream>
#include <stdexcept>

using namespace std::chrono_literals;

namespace {

class accounts {
 public:
  accounts() {
    if (sqlite3_open(":memory:", &db_) != SQLITE_OK) throw std::runtime_error("no database");
    run("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, fence INTEGER)");
    run("INSERT INTO account VALUES (1, 100, 0)");
  }
  ~accounts() { sqlite3_close(db_); }
  accounts(accounts const&) = delete;
  accounts& operator=(accounts const&) = delete;

  // False when a later holder has written already: then stop, and write nothing else either.
  bool set_balance(int id, int balance, herdlock::fencing_token token) {
    // "… SET balance = ?1, fence = ?3 WHERE id = ?2 AND (fence IS NULL OR fence <= ?3)"
    auto const fence = herdlock::sql_fence::on("fence", "?3");
    std::string const sql = "UPDATE account SET balance = ?1, " + fence.assignment +
                            " WHERE id = ?2 AND " + fence.predicate;
    sqlite3_stmt* update = nullptr;
    check(sqlite3_prepare_v2(db_, sql.c_str(), -1, &update, nullptr) == SQLITE_OK);
    sqlite3_bind_int(update, 1, balance);
    sqlite3_bind_int(update, 2, id);
    sqlite3_bind_int64(update, 3, static_cast<sqlite3_int64>(token.value));
    int const ended = sqlite3_step(update);
    sqlite3_finalize(update);
    check(ended == SQLITE_DONE);
    return sqlite3_changes(db_) == 1;
  }

 private:
  void run(char const* sql) { check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) == 0); }
  void check(bool holds) const {
    if (!holds) throw std::runtime_error(sqlite3_errmsg(db_));
  }

  sqlite3* db_ = nullptr;
};

}  // namespace

int main() try {
  auto store = herdlock::open_store("memory:");
  herdlock::lock account(store, "account/1");
  accounts table;

  // The first holder is about to write, and is paused for longer than its ttl. Somebody else gets
  // the lock meanwhile (an operator took it away here, so that nobody has to wait).
  auto paused = account.try_acquire({.ttl = 10s});
  account.force_release();

  auto present = account.try_acquire({.ttl = 10s});
  bool const first = table.set_balance(1, 70, present->fencing());
  std::cout << "the present holder writes: " << (first ? "written" : "refused") << '\n';

  // The first one goes on where it stood.
  bool const late = table.set_balance(1, 130, paused->fencing());
  std::cout << "the late holder writes: " << (late ? "written" : "refused") << '\n';

  // For a key in Redis the same is a script: herdlock::set_if_fenced_script, to be run by any
  // client: EVALSHA set_if_fenced_sha1 2 KEY {KEY}:fenced TOKEN VALUE TTL.
  return first && !late ? 0 : 1;
} catch (std::exception const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
