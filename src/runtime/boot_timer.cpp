#include "runtime/boot_timer.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <system_error>

namespace herdlock::runtime {
namespace {

int open_timer() {
  int const fd = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "timerfd_create");
  return fd;
}

itimerspec absolute(clock::time_point at) {
  // An absolute time of zero would disarm the timer.
  auto const since_boot = std::max(at.time_since_epoch(), clock::duration{1});
  auto const seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
  itimerspec spec{};
  spec.it_value.tv_sec = seconds.count();
  spec.it_value.tv_nsec = (since_boot - seconds).count();
  return spec;
}

}  // namespace

boot_timer::boot_timer(boost::asio::any_io_executor const& executor, std::function<void()> on_fire)
    : descriptor_(executor, open_timer()), on_fire_(std::move(on_fire)) {}

void boot_timer::arm_no_later_than(clock::time_point at) {
  if (at >= armed_ || !on_fire_) return;
  armed_ = at;
  auto const spec = absolute(at);
  ::timerfd_settime(descriptor_.native_handle(), TFD_TIMER_ABSTIME, &spec, nullptr);
  if (!listening_) listen();
}

void boot_timer::listen() {
  listening_ = true;
  // Weak: a pending wait must not keep the timer's owner alive.
  auto on_ready = [weak = weak_from_this()](boost::system::error_code const& ec) {
    auto self = weak.lock();
    if (!self) return;
    self->listening_ = false;
    self->armed_ = clock::time_point::max();
    if (!self->on_fire_) return;
    if (ec) return self->fire_after_trouble();
    std::uint64_t fired = 0;
    [[maybe_unused]] auto const n = ::read(self->descriptor_.native_handle(), &fired, sizeof fired);
    auto const fire = self->on_fire_;  // it may close the timer
    fire();
  };
  descriptor_.async_wait(boost::asio::posix::stream_descriptor::wait_read, std::move(on_ready));
}

// The callee looks at the clock and arms again. Not at once: the trouble may stay.
void boot_timer::fire_after_trouble() {
  auto const pause = std::make_shared<boost::asio::steady_timer>(descriptor_.get_executor(),
                                                                 std::chrono::milliseconds{10});
  pause->async_wait([weak = weak_from_this(), pause](boost::system::error_code const&) {
    auto const self = weak.lock();
    if (!self || !self->on_fire_) return;
    auto const fire = self->on_fire_;
    fire();
  });
}

void boot_timer::close() {
  on_fire_ = nullptr;
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

}  // namespace herdlock::runtime
