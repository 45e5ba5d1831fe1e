#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "scenes/origin.hpp"
#include "terminal/exit_code.hpp"

namespace herdlock::lab {
namespace {

using cli::command_error;
using cli::exit_code;

// SQLite has no SLEEP(). Pure waiting, as a query that waits for a disk or a lock does.
void sleep_function(sqlite3_context* context, int, sqlite3_value** arguments) {
  std::this_thread::sleep_for(std::chrono::duration<double>(sqlite3_value_double(arguments[0])));
  sqlite3_result_int(context, 0);
}

// SQLite's own handler backs off to 100 ms; hundreds of writers would each wait that long.
int busy_handler(void*, int tries) {
  if (tries > 30'000) return 0;
  std::this_thread::sleep_for(milliseconds(1));
  return 1;
}

struct finalizer {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
struct sqlite_closer {
  void operator()(sqlite3* opened) const { sqlite3_close_v2(opened); }
};

class sqlite_database final : public database {
 public:
  explicit sqlite_database(store_url const& url) : shown_(url.redacted()) {
    if (url.path.empty()) {
      throw command_error(exit_code::usage, "sqlite: needs a path, as in sqlite:origin.db");
    }
    sqlite3* opened = nullptr;
    int const flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int const code = sqlite3_open_v2(url.path.c_str(), &opened, flags, nullptr);
    database_.reset(opened);
    if (code != SQLITE_OK) fail();
    sqlite3_busy_handler(opened, &busy_handler, nullptr);
    sqlite3_create_function(opened, "SLEEP", 1, SQLITE_UTF8, nullptr, &sleep_function, nullptr,
                            nullptr);
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = OFF");
  }

  std::vector<std::string> run(std::string const& sql) override {
    sqlite3_stmt* made = nullptr;
    auto const size = static_cast<int>(sql.size());
    if (sqlite3_prepare_v2(database_.get(), sql.data(), size, &made, nullptr) != SQLITE_OK) fail();
    std::unique_ptr<sqlite3_stmt, finalizer> const statement(made);
    // Writers of one process queue here instead of in the busy handler.
    static std::mutex writing;
    std::unique_lock one_writes(writing, std::defer_lock);
    if (!sqlite3_stmt_readonly(made)) one_writes.lock();
    int const code = sqlite3_step(made);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail();
    std::vector<std::string> row;
    for (int i = 0; i < sqlite3_data_count(made); ++i) {
      auto const* const text = sqlite3_column_text(made, i);
      row.emplace_back(text ? reinterpret_cast<char const*>(text) : "");
    }
    return row;
  }

 private:
  [[noreturn]] void fail() const {
    throw command_error(exit_code::unavailable,
                        fmt::format("origin {}: {}; choose a file that can be written", shown_,
                                    sqlite3_errmsg(database_.get())));
  }

  std::string const shown_;
  std::unique_ptr<sqlite3, sqlite_closer> database_;
};

std::unique_ptr<database> open(store_url const& url) {
  return std::make_unique<sqlite_database>(url);
}

}  // namespace

origin_kind const sqlite_origin{
    .scheme = "sqlite",
    .example = "sqlite:PATH",
    .open = open,
    .tables = "sqlite_master",
    .create_log =
        "CREATE TABLE IF NOT EXISTS herdlock_demo_load(id INTEGER PRIMARY KEY, run TEXT NOT NULL,"
        " mode TEXT NOT NULL, expiry INTEGER NOT NULL, process INTEGER NOT NULL,"
        " at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f')))",
    .insert_unless_there = "INSERT OR IGNORE",
    .most_sessions = "256",
};

}  // namespace herdlock::lab
