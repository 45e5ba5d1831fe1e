// The store's one connection for commands: opened when it is needed, prepared, opened again.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "stores/common/pending_operations.hpp"
#include "stores/postgres/connection.hpp"

namespace herdlock::postgres {

/// What every connection is told at first.
/// READ COMMITTED: the functions rely on seeing what others committed while they waited.
/// client_connection_check_interval: a connection that was cut ends what still runs for it, and
/// whoever died leaves the line for a lock.
/// transaction_timeout: a server that has it would end the transaction that keeps a row locked.
/// synchronous_commit: a grant, or a leap of the tokens, that a crash of the server takes back
/// would be given twice.
inline constexpr std::string_view common_set_up =
    "SET default_transaction_isolation = 'read committed';"
    "SELECT set_config(name, '1s', false) FROM pg_settings"
    " WHERE name = 'client_connection_check_interval';"
    "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout';"
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off';";

/// The moment in which the server was started, in microseconds: no other server has the same.
inline constexpr std::string_view started_sql =
    "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint";

using reply = result<rows>;
using on_reply = std::function<void(reply)>;

/// What a mode needs on each new connection.
struct preparation {
  std::string query;   ///< answers 'true' when the script need not be run
  std::string script;  ///< makes the tables
  std::vector<std::pair<std::string, std::string>> statements;
  std::string channel;                      ///< to listen on
  std::shared_ptr<store_warnings> found{};  ///< is told where the tables are
};

/// What the owner of the connection for commands hears of it.
class subscription_listener {
 public:
  virtual ~subscription_listener() = default;
  virtual void on_up() = 0;
  virtual void on_notification(std::string const& payload) = 0;
  virtual void on_down(failure const& why) = 0;
};

/// Commands wait while it connects; when that fails, all of them fail with the reason, and the
/// next command tries again. It calls nobody from inside a call to it.
class command_connection : public connection_listener,
                           public std::enable_shared_from_this<command_connection> {
 public:
  command_connection(asio::any_io_executor executor, settings what, preparation needed)
      : executor_(std::move(executor)), what_(std::move(what)), needed_(std::move(needed)) {}

  void set_listener(std::weak_ptr<subscription_listener> listener) {
    listener_ = std::move(listener);
  }
  void run(statement what, on_reply done);
  /// Lets the commands under way end, and ends.
  void close();
  bool ready() const { return state_ == state::ready; }
  /// The server's process behind it, as it says itself; 0 when it listens on a channel.
  int server_pid() const { return server_pid_; }
  /// The server, by when it was started; empty when it listens on a channel.
  std::string const& server() const { return server_; }
  /// When the present connection was begun.
  clock::time_point begun() const { return begun_; }
  /// Gives the connection up, as if it had been lost.
  void leave(failure const& why);

  void on_open(std::optional<sql_error> failed) override;
  void on_notification(std::string const& payload) override;
  void on_end(sql_error const& why) override;

 private:
  enum class state { down, connecting, ready };
  struct command {
    statement what;
    on_reply done;
  };

  on_answer of_this_connection(std::function<void(command_connection&, answer const&)> then);
  void connect();
  void look_for_schema();
  void make_schema();
  void prepare();
  void tell_schema();
  void set_up_failed(sql_error const& why);
  void is_ready();
  void send(command one);
  void on_answered(answer const& what);
  void fail_all(failure const& why);
  void close_when_idle();

  asio::any_io_executor executor_;
  settings what_;
  preparation needed_;
  std::weak_ptr<subscription_listener> listener_;
  std::shared_ptr<connection> connection_;
  std::deque<command> waiting_;
  state state_ = state::down;
  int server_pid_ = 0;
  std::string server_;
  clock::time_point begun_{};
  std::size_t under_way_ = 0;  // commands that were sent
  bool read_only_ = false;     // left once nothing is under way
  bool closing_ = false;
};

/// Completes the operation with what `convert` makes of the rows; nothing when it has ended
/// already.
template <class T, class Convert>
void ask(command_connection& by, std::shared_ptr<stores::operation<T>> const& one, statement how,
         Convert convert) {
  if (!one) return;
  by.run(std::move(how), [one, convert](reply const& answered) {
    if (answered) return one->complete(result<T>(convert(*answered)));
    one->fail(answered.error());
  });
}
/// A page of names, by `list`.
inline void ask_page(command_connection& by,
                     std::shared_ptr<stores::operation<lease_page>> const& one,
                     list_request const& request) {
  auto const most = page_size(request);
  statement how{"list", {as_bytes(request.cursor), as_number(static_cast<std::int64_t>(most))}};
  ask(by, one, std::move(how), [most](rows const& found) { return to_page(found, most); });
}

}  // namespace herdlock::postgres
