#include "stores/sqlite/connection.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "stores/common/numbers.hpp"

namespace herdlock::sqlite {
namespace {

constexpr int page_bytes = 4096;
constexpr milliseconds look_for_move_every{10};
constexpr int log_bytes_kept = 16 * 1024 * 1024;

// The store's clock, as an SQL function. All processes that may open the file share one machine
// and so one CLOCK_BOOTTIME: no wall clock that somebody sets, no difference between clients. As a
// function it is asked when the row is judged, that is, after the write lock was got; a value bound
// beforehand would be as old as the wait for the lock was, and could renew what has expired since.
void now_us(sqlite3_context* context, int, sqlite3_value**) {
  using std::chrono::microseconds;
  auto now = std::chrono::floor<microseconds>(clock::now().time_since_epoch());
  sqlite3_result_int64(context, now.count());
}

// A COMMIT that fails keeps the system's error to itself; the log's file knows it.
int system_error_of(sqlite3* db) {
  int error = sqlite3_system_errno(db);
  sqlite3_file* log = nullptr;
  bool const writing = sqlite3_extended_errcode(db) == SQLITE_IOERR_WRITE;
  if (error != 0 || !writing) return error;
  sqlite3_file_control(db, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log));
  if (log == nullptr || log->pMethods == nullptr) return error;
  log->pMethods->xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &error);
  return error;
}

int on_busy(void* self, int) { return static_cast<connection*>(self)->wait_a_little() ? 1 : 0; }

}  // namespace

bool sql_error::no_room() const {
  int const kind = code & 0xff;
  bool const told = system_error == ENOSPC || system_error == EDQUOT || system_error == EFBIG;
  return kind == SQLITE_FULL || (kind == SQLITE_IOERR && told);
}

bool sql_error::busy() const {
  int primary = code & 0xff;
  return primary == SQLITE_BUSY || primary == SQLITE_LOCKED;
}

statement::~statement() {
  sqlite3_reset(prepared_);
  sqlite3_clear_bindings(prepared_);
}

void statement::check(int code) const {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  sqlite3* db = sqlite3_db_handle(prepared_);
  throw sql_error{sqlite3_extended_errcode(db), system_error_of(db), sqlite3_errmsg(db)};
}

statement& statement::bind(int index, std::int64_t number) {
  check(sqlite3_bind_int64(prepared_, index, number));
  return *this;
}

statement& statement::text(int index, std::string_view bytes) {
  check(sqlite3_bind_text64(prepared_, index, bytes.data(), bytes.size(), SQLITE_STATIC,
                            SQLITE_UTF8));
  return *this;
}

statement& statement::blob(int index, std::string_view bytes) {
  // A null pointer would be bound as NULL.
  char const* data = bytes.empty() ? "" : bytes.data();
  check(sqlite3_bind_blob64(prepared_, index, data, bytes.size(), SQLITE_STATIC));
  return *this;
}

bool statement::step() {
  int code = sqlite3_step(prepared_);
  check(code);
  return code == SQLITE_ROW;
}

std::int64_t statement::number(int column) const { return sqlite3_column_int64(prepared_, column); }

std::string statement::bytes(int column) const {
  auto const* data = static_cast<char const*>(sqlite3_column_blob(prepared_, column));
  auto size = static_cast<std::size_t>(sqlite3_column_bytes(prepared_, column));
  return data == nullptr ? std::string() : std::string(data, size);
}

connection::connection(file_settings const& settings)
    : settings_(settings),
      deadline_(clock::now() + settings.timeout),
      jitter_(static_cast<std::uint32_t>(clock::now().time_since_epoch().count()) | 1u) {
  // No SQLITE_OPEN_CREATE: the file was made with its mode before. No URI: a path is a path.
  int const mode =
      settings_.access == file_access::looks ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  int code = sqlite3_open_v2(settings_.path.c_str(), &db_,
                             mode | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  try {
    if (code != SQLITE_OK) fail(code);
    set_up();
  } catch (...) {
    for (auto& [sql, prepared] : statements_) sqlite3_finalize(prepared);
    sqlite3_close(db_);
    throw;
  }
}

connection::~connection() {
  for (auto& [sql, prepared] : statements_) sqlite3_finalize(prepared);
  sqlite3_close(db_);
}

// WAL: readers never wait for a writer, and a process that dies within a transaction leaves
// nothing but a tail of the log that the next one ignores.
//
// synchronous=NORMAL: no fsync per commit. What a power cut may take back are the last commits,
// and those are of no use after it: the boot id has changed, so leases and cache are dropped
// anyway, and fencing tokens go on from the wall clock. OFF would save only the rare fsync of a
// checkpoint, and a power cut could then leave a file that no one can open.
void connection::set_up() {
  bool const looks = settings_.access == file_access::looks;
  if (!looks && !writable()) throw sql_error{SQLITE_READONLY, 0, ""};
  sqlite3_busy_handler(db_, &on_busy, this);
  int code = sqlite3_create_function_v2(db_, "herdlock_now", 0, SQLITE_UTF8, nullptr, &now_us,
                                        nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
  if (looks) return;
  bool logged = false;
  while (!logged) {
    try {
      statement mode = prepare("PRAGMA journal_mode = WAL");
      logged = mode.step() && mode.bytes(0) == "wal";
      if (!logged) throw sql_error{SQLITE_PROTOCOL, 0, "write-ahead log is not available here"};
    } catch (sql_error const& error) {
      if (!error.busy() || !wait_a_little()) throw;
    }
  }
  execute("PRAGMA synchronous = NORMAL");
  execute("PRAGMA temp_store = MEMORY");
  execute(("PRAGMA journal_size_limit = " + std::to_string(log_bytes_kept)).c_str());
  execute(("PRAGMA max_page_count = " + std::to_string(settings_.max_bytes / page_bytes)).c_str());
}

void connection::fail(int code) const {
  throw sql_error{code, system_error_of(db_), sqlite3_errmsg(db_)};
}

statement connection::prepare(char const* sql) {
  sqlite3_stmt*& known = statements_[sql];
  if (known == nullptr) {
    int code = sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &known, nullptr);
    if (code != SQLITE_OK) fail(code);
  }
  return statement(known);
}

void connection::execute(char const* sql) {
  int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t connection::changes() const { return sqlite3_changes64(db_); }

bool connection::writable() const { return sqlite3_db_readonly(db_, "main") == 0; }

std::int64_t connection::data_version() {
  statement query = prepare("PRAGMA data_version");
  query.step();
  return query.number(0);
}

// Why: docs/stores/sqlite.md#sqlite-looks-at-its-path
bool connection::moved() {
  auto const now = clock::now();
  if (now < unmoved_until_) return false;
  int moved = 0;
  sqlite3_file_control(db_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  if (moved == 0) unmoved_until_ = now + look_for_move_every;
  return moved != 0;
}

// SQLite's locks have no queue: the one who asks again first gets it. Short waits of differing
// length keep many processes from asking in step and none from starving.
bool connection::wait_a_little() {
  auto now = clock::now();
  if (given_up_ || now >= deadline_ || moved()) return false;
  jitter_ = jitter_ * 1664525u + 1013904223u;
  auto pause = std::chrono::microseconds(100 + (jitter_ >> 16) % 1900);
  std::this_thread::sleep_for(std::min<clock::duration>(pause, deadline_ - now));
  return true;
}

void connection::roll_back() {
  if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

// What it could not do shows in the next statement. It keeps no writer from the file, and waits for
// nobody: who renews meanwhile must not be late.
// Why: docs/stores/sqlite.md#on-a-full-disk-the-log-is-emptied
void connection::empty_log() {
  sqlite3_wal_checkpoint_v2(db_, "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void connection::give_up() {
  given_up_ = true;
  sqlite3_interrupt(db_);
}

transaction::transaction(connection& db, write_lock when) : db_(db) {
  db_.prepare(when == write_lock::at_once ? "BEGIN IMMEDIATE" : "BEGIN").step();
}

transaction::~transaction() {
  if (open_) db_.roll_back();
}

void transaction::commit() {
  db_.prepare("COMMIT").step();
  open_ = false;
}

namespace {

failure describe(sql_error const& error, file_settings const& file) {
  std::string const& path = file.path;
  std::string reason = error.system_error != 0 ? std::strerror(error.system_error) : error.text;
  switch (error.code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return make_failure(errc::timed_out, path + " stayed locked by another process for " +
                                               in_ms(file.timeout) +
                                               "; see who holds it open, or raise ?timeout=");
    case SQLITE_INTERRUPT:
      return make_failure(errc::canceled, path + " is being closed");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return make_failure(
          errc::access_denied,
          path + " is not writable; give this user write access to it and its folder");
    case SQLITE_CANTOPEN:
      return make_failure(
          error.system_error == EACCES ? errc::access_denied : errc::unavailable,
          path + " cannot be opened (" + reason + "); its folder must exist and be writable");
    case SQLITE_NOTADB:
      return make_failure(errc::unavailable,
                          path + " is not an SQLite database; choose another path");
    case SQLITE_CORRUPT:
      return make_failure(errc::unavailable, path + " is damaged (" + error.text +
                                                 "); stop its users, remove it and start again");
    case SQLITE_IOERR:
      if (!error.no_room()) {
        return make_failure(errc::unavailable, path + ": input/output error (" + reason + ")");
      }
      [[fallthrough]];
    case SQLITE_FULL:
      return make_failure(errc::unavailable,
                          "no room for " + path +
                              ": the disk is full or the file has its max_bytes (" +
                              std::to_string(file.max_bytes) + "); free some space");
    case SQLITE_PROTOCOL:
      return make_failure(errc::unavailable, path + " cannot be locked safely (" + error.text +
                                                 "); put it on a local disk");
    default:
      return make_failure(errc::protocol, path + ": " + error.text);
  }
}

failure about(std::string const& subject, failure const& why) {
  return {why.code, "sqlite: " + subject + ": " + why.message};
}

}  // namespace

failure explain(sql_error const& error, std::string const& subject, file_settings const& settings) {
  return about(subject, describe(error, settings));
}
failure explain(sql_error const& error, std::string const& subject, connection& db) {
  if (db.given_up() && error.busy()) {
    return about(subject, make_failure(errc::canceled, "the store is being closed"));
  }
  if (error.busy() && db.moved()) return about(subject, moved_away(db.settings()));
  return explain(error, subject, db.settings());
}

failure moved_away(file_settings const& file) {
  return make_failure(errc::unavailable, file.path +
                                             " was removed or replaced while it was open; restart "
                                             "this process to use the new file");
}

}  // namespace herdlock::sqlite
