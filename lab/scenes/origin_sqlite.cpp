#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "terminal/exit_code.hpp"
#include "scenes/origin.hpp"

namespace herdlock::cli {
namespace {

// SQLite has no SLEEP(). Pure waiting, as a query that waits for a disk or a lock does.
void slow_function(sqlite3_context* context, int, sqlite3_value** arguments) {
  std::this_thread::sleep_for(milliseconds(sqlite3_value_int64(arguments[0])));
  sqlite3_result_int(context, 0);
}

// SQLite's own handler backs off to 100 ms; hundreds of writers would each wait that long.
int busy_handler(void*, int tries) {
  if (tries > 30'000) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return 1;
}

struct finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
struct sqlite_closer {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using statement = std::unique_ptr<sqlite3_stmt, finalizer>;

// Writers of one process queue here instead of in the busy handler.
std::mutex& writing() {
  static std::mutex one;
  return one;
}

class sqlite_origin final : public origin_session {
 public:
  sqlite_origin(store_url const& url, milliseconds load_time);

  void create() override;
  product revise(std::int64_t revision) override;
  void log_load(load_label const& label) override;
  product load() override;
  std::int64_t count_loads(load_label const& label) override;
  int max_sessions() override { return 256; }

 private:
  void run(char const* sql);
  statement prepare(char const* sql);
  bool step(statement const& s);
  [[noreturn]] void fail() const;

  std::string place_;
  milliseconds load_time_;
  std::unique_ptr<sqlite3, sqlite_closer> database_;
};

void bind_text(statement const& s, int at, std::string const& text) {
  sqlite3_bind_text(s.get(), at, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
}

product read_product(statement const& s) {
  auto const* name = reinterpret_cast<char const*>(sqlite3_column_text(s.get(), 1));
  return {sqlite3_column_int64(s.get(), 0), name ? name : "", sqlite3_column_int64(s.get(), 2),
          sqlite3_column_int64(s.get(), 3)};
}

sqlite_origin::sqlite_origin(store_url const& url, milliseconds load_time)
    : place_(url.redacted()), load_time_(load_time) {
  if (url.path.empty()) {
    throw command_error(exit_code::usage, "sqlite: needs a path, as in sqlite:origin.db");
  }
  sqlite3* opened = nullptr;
  int const flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int const code = sqlite3_open_v2(url.path.c_str(), &opened, flags, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail();
  sqlite3_busy_handler(opened, &busy_handler, nullptr);
  sqlite3_create_function(opened, "herdlock_slow", 1, SQLITE_UTF8, nullptr, &slow_function, nullptr,
                          nullptr);
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = OFF");
}

void sqlite_origin::fail() const {
  throw command_error(exit_code::unavailable,
                      fmt::format("origin {}: {}; choose a file that can be written", place_,
                                  sqlite3_errmsg(database_.get())));
}

void sqlite_origin::run(char const* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

statement sqlite_origin::prepare(char const* sql) {
  sqlite3_stmt* made = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql, -1, &made, nullptr) != SQLITE_OK) fail();
  return statement(made);
}

bool sqlite_origin::step(statement const& s) {
  int const code = sqlite3_step(s.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
  return code == SQLITE_ROW;
}

void sqlite_origin::create() {
  run("BEGIN IMMEDIATE");
  statement const tables =
      prepare("SELECT sum(name = 'Product'), sum(name = 'herdlock_demo_load') FROM sqlite_master");
  step(tables);
  if (sqlite3_column_int(tables.get(), 0) && !sqlite3_column_int(tables.get(), 1)) {
    throw command_error(exit_code::usage,
                        fmt::format("origin {}: has a table Product that is not the demo's; give "
                                    "the demo a database of its own",
                                    place_));
  }
  run("CREATE TABLE IF NOT EXISTS Product(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
      " price_cents INTEGER NOT NULL, revision INTEGER NOT NULL)");
  run("CREATE TABLE IF NOT EXISTS herdlock_demo_load(id INTEGER PRIMARY KEY, run TEXT NOT NULL,"
      " mode TEXT NOT NULL, expiry INTEGER NOT NULL, process INTEGER NOT NULL,"
      " at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f')))");
  run("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
      " INSERT OR IGNORE INTO Product SELECT i, 'Product ' || i, 100 * i, 0 FROM n");
  run("COMMIT");
}

product sqlite_origin::revise(std::int64_t revision) {
  product now = product_at(revision);
  statement const s =
      prepare("UPDATE Product SET name = ?, price_cents = ?, revision = ? WHERE id = ?");
  bind_text(s, 1, now.name);
  sqlite3_bind_int64(s.get(), 2, now.price_cents);
  sqlite3_bind_int64(s.get(), 3, now.revision);
  sqlite3_bind_int64(s.get(), 4, now.id);
  step(s);
  return now;
}

void sqlite_origin::log_load(load_label const& label) {
  std::lock_guard const held(writing());
  statement const s =
      prepare("INSERT INTO herdlock_demo_load(run, mode, expiry, process) VALUES (?, ?, ?, ?)");
  bind_text(s, 1, label.run);
  bind_text(s, 2, label.mode);
  sqlite3_bind_int(s.get(), 3, label.expiry);
  sqlite3_bind_int(s.get(), 4, ::getpid());
  step(s);
}

product sqlite_origin::load() {
  statement const s =
      prepare("SELECT id, name, price_cents, revision, herdlock_slow(?) FROM Product WHERE id = ?");
  sqlite3_bind_int64(s.get(), 1, load_time_.count());
  sqlite3_bind_int64(s.get(), 2, hot_product_id);
  if (!step(s)) fail();
  return read_product(s);
}

std::int64_t sqlite_origin::count_loads(load_label const& label) {
  statement const s = prepare("SELECT count(*) FROM herdlock_demo_load WHERE run = ? AND mode = ?");
  bind_text(s, 1, label.run);
  bind_text(s, 2, label.mode);
  step(s);
  return sqlite3_column_int64(s.get(), 0);
}

}  // namespace

std::unique_ptr<origin_session> open_sqlite_origin(store_url const& url, milliseconds load_time) {
  return std::make_unique<sqlite_origin>(url, load_time);
}

}  // namespace herdlock::cli
