// One connection of libpq in its non-blocking pipeline mode, under Asio.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/detail/async.hpp>

#include "stores/common/look_up.hpp"
#include "stores/postgres/rows.hpp"
#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

/// What a connection tells by itself. It calls nobody from inside a call to it.
class connection_listener {
 public:
  virtual ~connection_listener() = default;
  /// It is open, or (with an error) it never was.
  virtual void on_open(std::optional<sql_error> failed) = 0;
  virtual void on_notification(std::string const&) {}
  /// It was open and has ended; each statement under way has been answered with the same error.
  virtual void on_end(sql_error const&) {}
};

/// How long a statement may take before the connection counts as dead; without a limit the server
/// ends it.
using patience = std::optional<milliseconds>;

class connection : public std::enable_shared_from_this<connection> {
 public:
  connection(asio::any_io_executor executor, settings const& what,
             std::weak_ptr<connection_listener> listener);
  ~connection();
  connection(connection const&) = delete;
  connection& operator=(connection const&) = delete;

  /// Resolves the host and connects, by the settings' timeout.
  void open();
  /// SQL of one or more statements, as one transaction. Alone: nothing else may be under way, and
  /// only before start_pipeline().
  void run_script(std::string const& sql, on_answer done);
  /// From here on statements are sent without waiting for the answers to those before.
  void start_pipeline();
  void prepare(std::string const& name, std::string const& sql, on_answer done);
  /// Statements run one after the other, each a transaction of its own.
  void run(statement const& what, patience how_long, on_answer done);
  /// As one step: what follows one that fails is not run. The answer is the last one's, or the
  /// first error.
  void run_together(std::vector<statement> const& all, patience how_long, on_answer done);

  /// Ends it soon, as if it had been lost.
  void end_later(sql_error why);
  /// Gives up at once; no more events. Answers under way fail, later.
  void close();
  /// It was closed, or has ended.
  bool over() const { return over_; }
  int backend_pid() const { return PQbackendPID(handle_.get()); }

 private:
  struct pending {
    on_answer done;
    std::optional<clock::time_point> due;
    std::optional<answer> reply{};
  };
  using descriptor = asio::posix::stream_descriptor;

  void start_libpq(std::string const& address);
  void poll_open();
  void wait_open(descriptor::wait_type what);
  void opened(std::optional<sql_error> failed);
  bool adopt_socket();

  void add(on_answer done, patience how_long);
  int put(statement const& what);
  void sent(int accepted);
  void flush();
  void listen();
  void on_readable();
  void read_pipeline();
  void read_script();
  void take_result(PGresult* result);
  void finish_front();
  void read_notifications();
  void watch();
  void end(sql_error const& why);
  sql_error last_error() const;
  static void keep_notice(void* self, char const* text);

  asio::any_io_executor executor_;
  settings what_;
  std::weak_ptr<connection_listener> listener_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> handle_{nullptr, &PQfinish};
  std::optional<descriptor> socket_;
  std::shared_ptr<stores::look_up> look_up_;
  asio::basic_waitable_timer<clock> open_timer_;
  asio::basic_waitable_timer<clock> watch_timer_;
  clock::time_point watched_until_ = clock::time_point::max();
  std::deque<pending> pending_;
  std::string notice_;  // what the server said last, when nobody had asked
  bool open_ = false;
  bool over_ = false;
  bool flushing_ = false;
  bool pipeline_ = false;
};

}  // namespace herdlock::postgres
