// One connection to the server.
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stores/mysql/settings.hpp"
#include "stores/mysql/sql_error.hpp"

struct st_mysql;
struct st_mysql_res;

namespace herdlock::mysql {

namespace asio = boost::asio;
using asio::awaitable;

using row = std::vector<std::optional<std::string>>;

/// What one statement returned.
struct outcome {
  std::uint64_t matched = 0;  ///< rows that the WHERE of an UPDATE or DELETE found
  std::uint64_t given = 0;    ///< what it called LAST_INSERT_ID() with
  std::vector<row> rows;
};

/// What each of several statements returned.
class outcomes {
 public:
  void add(outcome one) { all_.push_back(std::move(one)); }
  /// sql_error when the server answered fewer.
  outcome const& at(std::size_t index) const;
  std::size_t size() const { return all_.size(); }
  outcome const& last() const { return at(all_.empty() ? 0 : all_.size() - 1); }
  /// The first row of one of them; sql_error when there is none.
  row const& row_of(std::size_t index) const;

 private:
  std::vector<outcome> all_;
};

using timer = asio::basic_waitable_timer<clock>;

/// Ends after that time.
awaitable<void> pause(milliseconds span);

/// Used by one thread at a time, but for abort(). In UTC, autocommit, READ COMMITTED.
class connection : public std::enable_shared_from_this<connection> {
 public:
  connection();
  /// Once, before anything else. Ends by the timeout of the settings (but for the TCP connection:
  /// in whole seconds, rounded up; and where TLS verifies the name, the library asks for its
  /// address once more, which may hang although the first answer came) or by abort(); throws
  /// sql_error.
  void open(settings const& how);
  ~connection();
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;

  /// Runs statements (one round trip for all) and gives what each of them did. After the first
  /// that fails none is run, and sql_error is thrown. No thread waits for them. On the executor,
  /// always the same one for a connection. Its argument has no `?:` within: GCC 12 destroys twice
  /// what a branch that was not taken would have made.
  awaitable<outcomes> ask(std::string statements);
  /// The same for a thread that may block.
  outcomes run(std::string const& statements);
  /// What runs later than that fails. At first there is no such time.
  void set_deadline(clock::time_point last) { deadline_ = last; }

  std::uint64_t id() const { return id_; }
  /// Of the server that it leads to, or of the cluster; empty where nobody knows.
  std::string const& server() const { return server_; }
  clock::time_point begun() const { return begun_; }
  /// It was opened, so what it knows of its server can be read. On the executor.
  bool in_service = false;
  /// The wait_timeout that its user has set; 0: none.
  std::int64_t idle_timeout_s = 0;
  bool in_transaction() const;
  /// Nothing has come from the server unasked, not even the end: worth being used. Only while no
  /// statement is running.
  bool is_alive() const;
  /// From any thread: the running statement and all later ones fail at once.
  void abort();
  /// Calls `readable` once, when something comes that was not asked for: the server ended the
  /// session. False: it cannot be watched. On the executor, while no statement runs; to be ended by
  /// unwatch() before the next one.
  bool watch(asio::any_io_executor const& executor, std::function<void()> readable);
  void unwatch();

 private:
  struct in_use;
  // What ask() and watch() wait by, on their executor.
  struct line {
    asio::posix::stream_descriptor socket;  ///< another duplicate
    timer deadline;
  };
  struct closer {
    void operator()(st_mysql* handle) const;
  };
  bool has_line(asio::any_io_executor const& executor);
  awaitable<outcomes> exchange(std::string const& statements);
  awaitable<int> socket_event(int awaited);
  void end_at_deadline();
  void connect_to(std::vector<std::string> const& addresses, settings const& how);
  void connect(settings const& how, std::string const& address);
  static int wait_io(int socket, char is_read, int timeout_ms);
  outcome as_outcome(st_mysql_res* rows);
  sql_error last_error() const;
  [[noreturn]] void fail() const { throw last_error(); }

  std::unique_ptr<st_mysql, closer> handle_;
  std::uint64_t id_ = 0;
  std::string server_;
  clock::time_point begun_{};
  std::atomic<int> socket_ = -1;  ///< a duplicate: the library closes its own when it likes
  std::optional<line> line_;
  int wake_ = -1;  ///< an eventfd, for abort()
  clock::time_point deadline_ = clock::time_point::max();
  std::uint64_t asked_ = 0;  ///< exchanges that have ended
  bool late_ = false;        ///< one has not ended in time
};

/// Which server has such variables, as it was told by which_server: replication needs each to have
/// a server_id of its own. A node has its cluster's; empty while it has not joined.
std::string identity_of(std::vector<row> const& variables);
/// Of which a server with these variables is a node: Galera, and Group Replication in multi-primary
/// mode.
std::string cluster_of(std::vector<row> const& variables);

/// One after the other, with a single allocation: the next statement is written while the server
/// waits for it.
std::string joined(std::initializer_list<std::string_view> parts);
/// A value as a literal that no character set or collation touches.
std::string literal(std::string_view bytes);

/// Of the row's column; throws sql_error when it is not a number.
std::int64_t number(row const& from, std::size_t column);
std::string text(row const& from, std::size_t column);

}  // namespace herdlock::mysql
