// Statements that no thread waits for: the client library's non-blocking calls, each continued when
// the socket is ready. The library suspends a call on a stack of its own.
#include <fcntl.h>
#include <mysql.h>
#include <unistd.h>

#include <boost/asio/post.hpp>

#include "stores/mysql/connection.hpp"

namespace herdlock::mysql {

class connection::exchange : public std::enable_shared_from_this<exchange> {
 public:
  exchange(std::shared_ptr<connection> on, asio::any_io_executor const& executor,
           std::string statements, run_handler done)
      : on_(std::move(on)),
        executor_(executor),
        statements_(std::move(statements)),
        done_(std::move(done)) {}

  // The sending comes before the timer: time between the server's last answer and its next
  // statement costs more than itself.
  void begin(clock::time_point deadline) {
    on_->deadline_ = deadline;
    if (!on_->has_line(executor_)) {
      return end(sql_error{bad_reply, "its socket cannot be waited for"});
    }
    int const awaited =
        mysql_send_query_start(&failed_, handle(), statements_.data(), statements_.size());
    on_->line_->timer.expires_at(deadline);
    on_->line_->timer.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
      auto const self = weak.lock();
      if (ec || !self || !self->done_) return;
      self->late_ = true;
      self->on_->abort();
    });
    proceed(awaited);
    begun_ = true;
  }

 private:
  // Which call is under way; or, behind the sending, what is awaited before the next.
  enum class step { send, answer, query, rows, next };

  MYSQL* handle() const { return on_->handle_.get(); }

  // `awaited` is what a call waits for; 0: it is done.
  void proceed(int awaited) {
    while (awaited == 0) {
      auto const following = go_on();
      if (!following) return;
      awaited = *following;
    }
    using descriptor = asio::posix::descriptor_base;
    bool const to_write = (awaited & MYSQL_WAIT_READ) == 0 && (awaited & MYSQL_WAIT_WRITE) != 0;
    int const event = to_write ? MYSQL_WAIT_WRITE : MYSQL_WAIT_READ;
    on_->line_->socket.async_wait(to_write ? descriptor::wait_write : descriptor::wait_read,
                                  [self = shared_from_this(), event](boost::system::error_code ec) {
                                    if (ec) return self->end(sql_error{bad_reply, ec.message()});
                                    self->proceed(self->resume(event));
                                  });
  }

  int resume(int event) {
    switch (step_) {
      case step::send:
        return mysql_send_query_cont(&failed_, handle(), event);
      case step::answer:
        step_ = step::query;
        return mysql_read_query_result_start(&refused_, handle());
      case step::query:
        return mysql_read_query_result_cont(&refused_, handle(), event);
      case step::rows:
        return mysql_store_result_cont(&rows_, handle(), event);
      case step::next:
        return mysql_next_result_cont(&more_, handle(), event);
    }
    return 0;
  }

  // Begins the next call; nothing: it has ended.
  std::optional<int> go_on() {
    switch (step_) {
      case step::send:
        if (failed_ != 0) return fail();
        step_ = step::answer;
        return MYSQL_WAIT_READ;
      case step::answer:
        return std::nullopt;  // it is no call, so it does not end here
      case step::query:
        if (refused_ != 0) return fail();
        step_ = step::rows;
        return mysql_store_result_start(&rows_, handle());
      case step::rows:
        if (!rows_ && mysql_field_count(handle()) != 0) return fail();
        all_.add(on_->as_outcome(rows_));
        rows_ = nullptr;
        step_ = step::next;
        return mysql_next_result_start(&more_, handle());
      case step::next:
        if (more_ > 0 || (more_ < 0 && mysql_errno(handle()) != 0)) return fail();
        if (more_ == 0) {
          step_ = step::rows;
          return mysql_store_result_start(&rows_, handle());
        }
        end(std::nullopt);
    }
    return std::nullopt;
  }

  std::nullopt_t fail() {
    end(on_->last_error());
    return std::nullopt;
  }

  void end(std::optional<sql_error> error) {
    if (on_->line_) on_->line_->timer.cancel();
    on_->deadline_ = clock::time_point::max();
    // An answer that was there already: the session is on its way out all the same.
    if (late_ && !error) error = sql_error{too_late, "the server did not answer in time"};
    if (begun_) return std::exchange(done_, nullptr)(std::move(all_), std::move(error));
    asio::post(executor_, [self = shared_from_this(), error = std::move(error)] {
      std::exchange(self->done_, nullptr)(std::move(self->all_), error);
    });
  }

  std::shared_ptr<connection> const on_;
  asio::any_io_executor const executor_;
  std::string const statements_;
  run_handler done_;
  bool begun_ = false;
  bool late_ = false;  // the session was given up
  step step_ = step::send;
  int failed_ = 0;
  my_bool refused_ = 0;
  MYSQL_RES* rows_ = nullptr;
  int more_ = 0;
  outcomes all_;
};

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
  line_ = line{std::move(socket), asio::basic_waitable_timer<clock>(executor)};
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

void connection::async_run(std::shared_ptr<connection> on, asio::any_io_executor const& executor,
                           std::string statements, clock::time_point deadline, run_handler done) {
  std::make_shared<exchange>(std::move(on), executor, std::move(statements), std::move(done))
      ->begin(deadline);
}

}  // namespace herdlock::mysql
