#include <fmt/format.h>
#include <sqlite3.h>

#include <mutex>
#include <thread>

#include "scenes/origin.hpp"

namespace herdlock::lab {
namespace {

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

database open(store_url const& url) {
  if (url.path.empty()) {
    throw command_error(exit_code::usage, "sqlite: needs a path, as in sqlite:origin.db");
  }
  sqlite3* opened = nullptr;
  int const flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int const code = sqlite3_open_v2(url.path.c_str(), &opened, flags, nullptr);
  std::shared_ptr<sqlite3> const shared(opened, sqlite3_close_v2);
  auto const require = [opened, shown = url.redacted()](bool is_done) {
    if (is_done) return;
    throw command_error(exit_code::unavailable,
                        fmt::format("origin {}: {}; choose a file that can be written", shown,
                                    sqlite3_errmsg(opened)));
  };
  require(code == SQLITE_OK);
  sqlite3_busy_handler(opened, busy_handler, nullptr);
  sqlite3_create_function(opened, "SLEEP", 1, SQLITE_UTF8, nullptr, sleep_function, nullptr,
                          nullptr);
  database const run = [shared, require](std::string const& sql) {
    sqlite3_stmt* made = nullptr;
    auto const size = static_cast<int>(sql.size());
    require(sqlite3_prepare_v2(shared.get(), sql.data(), size, &made, nullptr) == SQLITE_OK);
    std::shared_ptr<sqlite3_stmt> const statement(made, sqlite3_finalize);
    // Writers of one process queue here instead of in the busy handler.
    static std::mutex writing;
    std::unique_lock one_writes(writing, std::defer_lock);
    if (!sqlite3_stmt_readonly(made)) one_writes.lock();
    int const stepped = sqlite3_step(made);
    require(stepped == SQLITE_ROW || stepped == SQLITE_DONE);
    std::vector<std::string> row;
    for (int i = 0; i < sqlite3_data_count(made); ++i) {
      auto const* const text = sqlite3_column_text(made, i);
      row.emplace_back(text ? reinterpret_cast<char const*>(text) : "");
    }
    return row;
  };
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = OFF");
  return run;
}

}  // namespace

origin_kind const sqlite_origin{
    .scheme = "sqlite",
    .example = "sqlite:PATH",
    .open = open,
    .tables = "sqlite_master",
    .counted = "INTEGER PRIMARY KEY",
    .now = "TEXT NOT NULL DEFAULT (strftime('%Y-%m-%d %H:%M:%f'))",
    .insert_unless_there = "INSERT OR IGNORE",
    .most_sessions = "256",
};

}  // namespace herdlock::lab
