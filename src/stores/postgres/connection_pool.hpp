// Sessions for locks that belong to one: a bounded number, opened when they are needed.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <set>

#include "stores/common/present_server.hpp"
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
  /// The server, by when it was started.
  std::string const& server() const { return server_; }
  clock::time_point begun() const { return begun_; }
  /// Ends soon, as if it had been lost: whoever holds a lock by it is told.
  void leave();
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
  std::string server_;
  clock::time_point begun_{};
};

/// What is held by a session is held at its server alone. So when a session or the connection for
/// commands leads to another server than the others, the older ones are given up.
class connection_pool final : public subscription_listener,
                              public std::enable_shared_from_this<connection_pool> {
 public:
  /// A session, or why there is none.
  using on_session = std::function<void(result<std::shared_ptr<session>>)>;

  /// It is to hear of `commands`: see command_connection::set_listener.
  connection_pool(asio::any_io_executor executor, settings what,
                  std::shared_ptr<command_connection> commands)
      : executor_(std::move(executor)), what_(std::move(what)), commands_(std::move(commands)) {}

  /// One that is idle or new; when all are taken, the next that comes back. Never from inside.
  void take(on_session done);
  /// Back, with no lock on it.
  void give_back(std::shared_ptr<session> const& one);
  /// Ends it, with whatever it holds.
  void end(std::shared_ptr<session> const& one);
  void close();

  void on_up() override;
  void on_notification(std::string const&) override {}
  void on_down(failure const&) override {}

 private:
  void serve();
  void open_one(on_session done);
  std::optional<failure> admit(session const& fresh);
  void leave_all_but(std::string const& server);

  asio::any_io_executor executor_;
  settings what_;
  std::set<std::shared_ptr<session>> all_;
  std::deque<std::shared_ptr<session>> idle_;
  std::deque<on_session> waiting_;
  std::shared_ptr<command_connection> const commands_;
  stores::present_server present_;
  bool closed_ = false;
};

}  // namespace herdlock::postgres
