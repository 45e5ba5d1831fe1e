// Statements that no thread waits for: the client library's non-blocking calls, each continued when
// the socket is ready. The library suspends a call on a stack of its own.
// Why: docs/stores/mysql.md#no-thread-for-one-exchange
#include <fcntl.h>
#include <mysql.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "stores/common/shared_timer.hpp"
#include "stores/mysql/connection.hpp"

namespace herdlock::mysql {

awaitable<void> pause(milliseconds span) {
  timer over(co_await asio::this_coro::executor, span);
  co_await over.async_wait(asio::use_awaitable);
}

awaitable<outcomes> connection::ask(std::string statements) {
  auto const self = shared_from_this();
  auto const executor = co_await asio::this_coro::executor;
  if (!has_line(executor)) throw sql_error{bad_reply, "its socket cannot be waited for"};
  // Its caller may have waited long for the connection.
  if (clock::now() >= deadline_) throw sql_error{too_late, "the server did not answer in time"};
  std::optional<outcomes> all;
  std::optional<sql_error> error;
  try {
    all = co_await exchange(statements);
  } catch (sql_error const& why) {
    error = why;
  }
  ++asked_;
  line_->deadline.cancel();
  // An answer that was there already: the session is on its way out all the same.
  if (late_) throw sql_error{too_late, "the server did not answer in time"};
  if (error) throw *error;
  co_return std::move(*all);
}

// The sending comes before the timer: time between the server's last answer and its next statement
// costs more than itself.
awaitable<outcomes> connection::exchange(std::string const& statements) {
  MYSQL* const handle = handle_.get();
  int failed = 0;
  int awaited = mysql_send_query_start(&failed, handle, statements.data(), statements.size());
  end_at_deadline();
  while (awaited != 0) {
    int const event = co_await socket_event(awaited);
    awaited = mysql_send_query_cont(&failed, handle, event);
  }
  if (failed != 0) fail();
  co_await socket_event(MYSQL_WAIT_READ);
  my_bool refused = 0;
  awaited = mysql_read_query_result_start(&refused, handle);
  while (awaited != 0) {
    int const event = co_await socket_event(awaited);
    awaited = mysql_read_query_result_cont(&refused, handle, event);
  }
  if (refused != 0) fail();
  outcomes all;
  for (int more = 0; more == 0;) {
    MYSQL_RES* rows = nullptr;
    awaited = mysql_store_result_start(&rows, handle);
    while (awaited != 0) {
      int const event = co_await socket_event(awaited);
      awaited = mysql_store_result_cont(&rows, handle, event);
    }
    all.add(as_outcome(rows));
    awaited = mysql_next_result_start(&more, handle);
    while (awaited != 0) {
      int const event = co_await socket_event(awaited);
      awaited = mysql_next_result_cont(&more, handle, event);
    }
    if (more > 0 || (more < 0 && mysql_errno(handle) != 0)) fail();
  }
  co_return all;
}

// What a call of the library waits for, when it has come.
awaitable<int> connection::socket_event(int awaited) {
  bool const to_write = (awaited & MYSQL_WAIT_READ) == 0 && (awaited & MYSQL_WAIT_WRITE) != 0;
  using descriptor = asio::posix::descriptor_base;
  boost::system::error_code ec;
  co_await line_->socket.async_wait(to_write ? descriptor::wait_write : descriptor::wait_read,
                                    asio::redirect_error(asio::use_awaitable, ec));
  if (ec) throw sql_error{bad_reply, ec.message()};
  co_return to_write ? MYSQL_WAIT_WRITE : MYSQL_WAIT_READ;
}

void connection::end_at_deadline() {
  if (deadline_ == clock::time_point::max()) return;
  auto on_late = [asked = asked_](connection& self) {
    if (self.asked_ != asked) return;
    self.late_ = true;
    self.abort();
  };
  stores::run_at(line_->deadline, deadline_, weak_from_this(), on_late);
}

bool connection::has_line(asio::any_io_executor const& executor) {
  if (line_) return true;
  int const copy = ::fcntl(socket_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return false;
  boost::system::error_code ec;
  asio::posix::stream_descriptor socket(executor);
  socket.assign(copy, ec);
  if (ec) {
    ::close(copy);
    return false;
  }
  line_ = line{std::move(socket), timer(executor)};
  return true;
}

bool connection::watch(asio::any_io_executor const& executor, std::function<void()> readable) {
  if (!has_line(executor)) return false;
  line_->socket.async_wait(asio::posix::descriptor_base::wait_read,
                           [readable = std::move(readable)](boost::system::error_code ec) {
                             if (!ec) readable();
                           });
  return true;
}

void connection::unwatch() {
  boost::system::error_code ignored;
  if (line_) line_->socket.cancel(ignored);
}

}  // namespace herdlock::mysql
