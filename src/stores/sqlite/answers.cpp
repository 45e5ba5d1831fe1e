#include "stores/sqlite/answers.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "stores/sqlite/lane.hpp"

namespace herdlock::sqlite {

result<std::shared_ptr<answers>> answers::open(asio::any_io_executor const& executor) {
  int const bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (bell < 0) {
    return make_failure(errc::unavailable, std::string("sqlite: open: no eventfd (") +
                                               std::strerror(errno) +
                                               "); raise the limit of open files");
  }
  return std::shared_ptr<answers>(new answers(executor, bell));
}

void answers::expect() {
  ++expected_;
  listen();
}

void answers::settled() {
  boost::system::error_code ignored;
  if (--expected_ == 0 && listening_) bell_.cancel(ignored);
}

// The descriptor stays open: a lane may be about to ring.
void answers::close() {
  {
    std::lock_guard alone(mutex_);
    closed_ = true;
  }
  hand_out();
}

void answers::give(std::shared_ptr<job> done) {
  {
    std::lock_guard alone(mutex_);
    if (closed_) return;
    done_.push_back(std::move(done));
    if (done_.size() > 1) return;  // it has been rung for
  }
  std::uint64_t const once = 1;
  [[maybe_unused]] auto const written = ::write(bell_.native_handle(), &once, sizeof once);
}

// What is being read ends with the last answer that is expected, and begins again with the next.
void answers::listen() {
  if (listening_ || expected_ == 0) return;
  listening_ = true;
  bell_.async_read_some(asio::buffer(rings_),
                        [self = shared_from_this()](boost::system::error_code ec, std::size_t) {
                          self->listening_ = false;
                          if (!ec) self->hand_out();
                          if (!ec || ec == asio::error::operation_aborted) self->listen();
                        });
}

void answers::hand_out() {
  std::vector<std::shared_ptr<job>> now;
  {
    std::lock_guard alone(mutex_);
    now.swap(done_);
  }
  for (auto& each : now) std::exchange(each, nullptr)->deliver();
}

}  // namespace herdlock::sqlite
