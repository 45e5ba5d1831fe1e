#include "stores/sqlite/completion_queue.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "stores/sqlite/worker.hpp"

namespace herdlock::sqlite {

result<std::shared_ptr<completion_queue>> completion_queue::open(
    asio::any_io_executor const& executor) {
  auto const refuse = [](std::string const& why) {
    return make_failure(errc::unavailable, "sqlite: open: no eventfd (" + why +
                                               "); raise the limits of open and of watched files");
  };
  int const bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (bell < 0) return refuse(std::strerror(errno));
  std::shared_ptr<completion_queue> made(new completion_queue(executor));
  boost::system::error_code ec;
  made->bell_.assign(bell, ec);
  if (!ec) return made;
  ::close(bell);
  return refuse(ec.message());
}

void completion_queue::expect() {
  ++expected_;
  listen();
}

void completion_queue::completed() {
  boost::system::error_code ignored;
  if (--expected_ == 0 && listening_) bell_.cancel(ignored);
}

// The descriptor stays open: a worker may be about to ring.
void completion_queue::close() {
  std::lock_guard alone(mutex_);
  closed_ = true;
  for (auto& each : std::exchange(done_, {})) {
    asio::post(bell_.get_executor(), [each = std::move(each)] { each->deliver(); });
  }
}

void completion_queue::add(std::shared_ptr<task> done) {
  {
    std::lock_guard alone(mutex_);
    if (closed_) return;
    done_.push_back(std::move(done));
    if (done_.size() > 1) return;  // it has been rung for
  }
  ring();
}

void completion_queue::ring() {
  std::uint64_t const once = 1;
  [[maybe_unused]] auto const written = ::write(bell_.native_handle(), &once, sizeof once);
}

// What is being read ends with the last answer that is expected, and begins again with the next.
void completion_queue::listen() {
  if (listening_ || expected_ == 0) return;
  listening_ = true;
  auto on_read = [self = shared_from_this()](boost::system::error_code ec, std::size_t) {
    self->listening_ = false;
    if (!ec) self->on_ring();
    if (ec == asio::error::operation_aborted) self->listen();
  };
  bell_.async_read_some(asio::buffer(rings_), std::move(on_read));
}

// One answer for each ring, and all is set for the others before it is delivered: its handler may
// throw, or run the event loop until one of them has come.
void completion_queue::on_ring() {
  std::shared_ptr<task> first;
  bool more = false;
  {
    std::lock_guard alone(mutex_);
    if (!done_.empty()) {
      first = std::move(done_.front());
      done_.pop_front();
    }
    more = !done_.empty();
  }
  if (more) ring();
  struct listen_again {
    completion_queue& to;
    ~listen_again() { to.listen(); }
  } const afterwards{*this};
  if (expected_ > 1) listen();
  if (first) first->deliver();
}

}  // namespace herdlock::sqlite
