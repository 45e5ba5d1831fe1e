// Acquire and release over an SQLite file beside the statements that they take at least, by hand
// through the same library. A statement keeps its thread until it is done, so the store has a
// thread of its own for them, as any program with an event loop has: the limit is beside by hand
// on such a thread.
//
// HERDLOCK_BENCH_PIN=1 keeps all on CPU 1.
#include <sqlite3.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <support/temp_dir.hpp>

#include "contenders.hpp"
#include "stores/sqlite/sqlite_store.hpp"

namespace {

using namespace bench;

constexpr std::size_t pairs = 64;  // of one round
constexpr std::size_t rounds = 60;

// One statement to take it, with a token that rises with each holder, and one to give it back.
class lock_by_hand final : public turn_taker {
 public:
  explicit lock_by_hand(std::string const& path) {
    check(sqlite3_open(path.c_str(), &db_));
    check(sqlite3_exec(db_,
                       "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                       "CREATE TABLE leases(name TEXT PRIMARY KEY NOT NULL, owner TEXT NOT NULL,"
                       " fencing INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT;",
                       nullptr, nullptr, nullptr));
    take_ = prepare(
        "INSERT INTO leases AS l VALUES ('bench', 'me', 1, unixepoch() + 30) ON CONFLICT (name) DO "
        "UPDATE SET owner = excluded.owner, fencing = l.fencing + 1, expires = excluded.expires "
        "WHERE l.expires <= unixepoch() RETURNING fencing");
    give_back_ = prepare("UPDATE leases SET expires = 0 WHERE name = 'bench' AND owner = 'me'");
  }
  ~lock_by_hand() override {
    sqlite3_finalize(take_);
    sqlite3_finalize(give_back_);
    sqlite3_close(db_);
  }

  void take() override {
    if (rows(take_) != 1) throw std::runtime_error("busy");
  }
  void give_back() override { rows(give_back_); }

 private:
  void check(int code) {
    if (code != SQLITE_OK) throw std::runtime_error(sqlite3_errmsg(db_));
  }
  sqlite3_stmt* prepare(char const* sql) {
    sqlite3_stmt* made = nullptr;
    check(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr));
    return made;
  }
  int rows(sqlite3_stmt* run) {
    int count = 0;
    while (sqlite3_step(run) == SQLITE_ROW) ++count;
    check(sqlite3_reset(run));  // what the last step came to
    return count;
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* give_back_ = nullptr;
};

// The same, asked for by an event loop that goes on meanwhile, and waits for something else, too.
class lock_on_a_thread final : public turn_taker {
 public:
  explicit lock_on_a_thread(std::string const& path) : lock_(path) {
    else_.async_wait([](boost::system::error_code) {});
  }
  ~lock_on_a_thread() override { thread_.join(); }

  void take() override {
    ask([this] { lock_.take(); });
  }
  void give_back() override {
    ask([this] { lock_.give_back(); });
  }

 private:
  template <class Work>
  void ask(Work work) {
    bool done = false;
    boost::asio::post(thread_, [&, work] {
      work();
      boost::asio::post(loop_.context, [&] { done = true; });
    });
    loop_.until([&done] { return done; });
  }

  lock_by_hand lock_;
  event_loop loop_;
  boost::asio::steady_timer else_{loop_.context, std::chrono::hours(1)};
  boost::asio::thread_pool thread_{1};
};

suite const sqlite_suite("sqlite", [](report& to) {
  pin_if_asked(1);
  herdlock_test::temp_dir const folder;
  auto const file = [&](char const* name) { return (folder.path() / name).string(); };
  event_loop loop;
  store_taker ours(loop, &herdlock::open_sqlite, "sqlite:" + file("ours"));
  lock_by_hand bare(file("bare"));
  lock_on_a_thread minimum(file("minimum"));
  compare_pairs(to, "sqlite.acquire_release", ours, minimum, at_most(1.25), pairs, rounds);
  compare_pairs(to, "sqlite.acquire_release_beside_bare_calls", ours, bare, no_limit, pairs,
                rounds);
});

}  // namespace
