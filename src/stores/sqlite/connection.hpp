// One connection to the file: statements by their text, errors as one type, waits with an end.
#pragma once

#include <atomic>
#include <herdlock/types.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

namespace herdlock::sqlite {

/// Thrown by connection and statement, turned into a failure by `attempt` and nowhere else.
struct sql_error {
  int code = 0;          ///< SQLite's extended result code
  int system_error = 0;  ///< errno, where there was one
  std::string text;

  bool busy() const;
  bool no_room() const;
};

/// A prepared statement in use: reset when it goes out of scope, so that no read stays open and
/// keeps the log from being checkpointed. Texts and blobs are bound without a copy: they must
/// outlive the statement's use.
class statement {
 public:
  explicit statement(sqlite3_stmt* prepared) : prepared_(prepared) {}
  ~statement();
  statement(statement const&) = delete;
  statement& operator=(statement const&) = delete;

  statement& bind(int index, std::int64_t number);
  statement& text(int index, std::string_view bytes);
  statement& blob(int index, std::string_view bytes);

  bool step();  ///< true while there is a row
  std::int64_t number(int column) const;
  std::string bytes(int column) const;

 private:
  void check(int code) const;
  sqlite3_stmt* prepared_;
};

/// What to do about a file that other machines may see.
enum class network_policy { refuse, allow };

/// What a connection is for. Who looks changes nothing, also not in a file that is not ours.
enum class file_access { all, looks };

struct file_settings {
  std::string path;
  /// The first write to a log waits for two syncs of the disk, one at its end for three.
  milliseconds timeout{5000};
  std::uint64_t max_bytes = std::uint64_t{4} << 30;
  network_policy network = network_policy::refuse;
  file_access access = file_access::all;
};

/// Used by one thread at a time, but for give_up().
class connection {
 public:
  /// Opens an existing file; throws sql_error.
  explicit connection(file_settings const& settings);
  ~connection();
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;

  /// The statement of this text, which must be a literal: it is kept by its address.
  statement prepare(char const* sql);
  /// Runs statements that return nothing.
  void execute(char const* sql);
  std::int64_t changes() const;
  bool writable() const;
  /// Another number than before means that somebody else has written since.
  std::int64_t data_version();
  /// The path leads to another file now, or to none: locks in this one exclude nobody. Seen some
  /// milliseconds late: a lease that was got in them is as good as one got just before the move.
  bool moved();

  /// Waiting for other processes ends at this time.
  void set_deadline(clock::time_point deadline) { deadline_ = deadline; }
  clock::time_point deadline() const { return deadline_; }
  /// Waits a little, unless the deadline has come or the file has moved.
  bool wait_a_little();
  void roll_back();
  /// Moves the log's content into the file, so that the log begins anew, unless somebody reads. On
  /// a full disk that is often room enough for what changes no size.
  void empty_log();
  /// From any thread: ends the present wait, and all later ones.
  void give_up();
  bool given_up() const { return given_up_; }

  file_settings const& settings() const { return settings_; }

 private:
  void set_up();
  [[noreturn]] void fail(int code) const;

  file_settings settings_;
  sqlite3* db_ = nullptr;
  std::unordered_map<char const*, sqlite3_stmt*> statements_;
  clock::time_point deadline_{};
  clock::time_point unmoved_until_{};
  std::uint32_t jitter_;
  std::atomic<bool> given_up_ = false;
};

/// What is read inside a transaction is never outdated when it is written: the write lock is taken
/// at once, or by the first write, which is `busy` if somebody else wrote since the first read.
enum class write_lock { at_once, by_first_write };

/// Rolls back unless committed.
class transaction {
 public:
  explicit transaction(connection& db, write_lock when = write_lock::at_once);
  ~transaction();
  transaction(transaction const&) = delete;
  transaction& operator=(transaction const&) = delete;
  void commit();

 private:
  connection& db_;
  bool open_ = true;
};

/// What a failed command tells the caller: `subject` is "acquire 'stock:1'".
failure explain(sql_error const& error, std::string const& subject, connection& db);
/// Why nothing is written to a file that others don't find any more.
failure moved_away(file_settings const& file);
/// As `explain`, while there is no connection yet.
failure explain(sql_error const& error, std::string const& subject, file_settings const& settings);

/// Runs `work(connection&)`, again and again while another process is in the way, until the
/// deadline. (SQLite's own waiting does not cover every such case, recovery after a crash and the
/// last closer's checkpoint among them.) Once again, too, where there was no room for a longer log.
template <class T, class Subject, class Work>
result<T> attempt(connection& db, Subject subject, Work& work) {
  bool emptied = false;
  while (true) {
    try {
      return work(db);
    } catch (sql_error const& error) {
      db.roll_back();
      if (error.no_room() && !std::exchange(emptied, true)) {
        db.empty_log();
        continue;
      }
      if (!error.busy() || !db.wait_a_little()) return explain(error, subject(), db);
    }
  }
}

}  // namespace herdlock::sqlite
