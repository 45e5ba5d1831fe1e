// Sessions for locks that belong to one: a bounded number, opened when they are needed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <set>

#include "stores/postgres/command_connection.hpp"
#include "stores/postgres/connection.hpp"

namespace herdlock::postgres {

/// A connection that at most one resource uses at a time.
class session : public connection_listener, public std::enable_shared_from_this<session> {
 public:
  using on_opened = std::function<void(std::optional<failure>)>;

  session(asio::any_io_executor executor, settings what)
      : executor_(std::move(executor)), what_(std::move(what)) {}

  void open(on_opened done);
  /// To run statements on, while it is open.
  connection& wire() { return *connection_; }
  void close();
  bool alive() const { return alive_; }
  int pid() const { return pid_; }
  /// When it began, in the server's microseconds.
  std::int64_t since() const { return since_; }
  /// What to do when it ends by itself.
  void on_loss(std::function<void()> lost) { lost_ = std::move(lost); }

  void on_open(std::optional<sql_error> failed) override;
  void on_end(sql_error const& why) override;

 private:
  void set_up();
  void opened(std::optional<failure> why);

  asio::any_io_executor executor_;
  settings what_;
  std::shared_ptr<connection> connection_;
  on_opened opened_;
  std::function<void()> lost_;
  bool alive_ = false;
  int pid_ = 0;
  std::int64_t since_ = 0;
};

class connection_pool : public std::enable_shared_from_this<connection_pool> {
 public:
  /// A session, or why there is none.
  using on_session = std::function<void(result<std::shared_ptr<session>>)>;

  connection_pool(asio::any_io_executor executor, settings what)
      : executor_(std::move(executor)), what_(std::move(what)) {}

  /// One that is idle or new; when all are taken, the next that comes back. Never from inside.
  void take(on_session done);
  /// Back, with no lock on it.
  void give_back(std::shared_ptr<session> const& one);
  /// Ends it, with whatever it holds.
  void end(std::shared_ptr<session> const& one);
  void close();
  /// The process of the server behind the connection for commands: nobody else may have it.
  void set_command_pid(int pid) { command_pid_ = pid; }

 private:
  void serve();
  void open_one(on_session done);

  asio::any_io_executor executor_;
  settings what_;
  std::set<std::shared_ptr<session>> all_;
  std::deque<std::shared_ptr<session>> idle_;
  std::deque<on_session> waiting_;
  int command_pid_ = 0;
  bool closed_ = false;
};

}  // namespace herdlock::postgres
