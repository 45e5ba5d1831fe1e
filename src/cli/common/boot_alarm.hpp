// A timer on herdlock's clock, CLOCK_BOOTTIME: it counts while the machine is suspended.
#pragma once

#include <sys/timerfd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <herdlock/types.hpp>

namespace herdlock::cli {

namespace asio = boost::asio;

/// Makes a timerfd ring once, at the time. Async-signal-safe.
inline void set_alarm(int alarm, clock::time_point at) noexcept {
  auto const since = at.time_since_epoch();
  auto const whole = std::chrono::duration_cast<std::chrono::seconds>(since);
  itimerspec spec{};
  spec.it_value = {whole.count(), std::max<long>((since - whole).count(), 1)};
  ::timerfd_settime(alarm, TFD_TIMER_ABSTIME, &spec, nullptr);
}

class boot_alarm {
 public:
  explicit boot_alarm(asio::any_io_executor executor)
      : descriptor_(executor, ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {}

  /// Calls `ring` once, at the time or as soon after it as this process runs.
  void set(clock::time_point at, std::function<void()> ring) {
    set_alarm(descriptor_.native_handle(), at);
    descriptor_.async_wait(asio::posix::descriptor_base::wait_read,
                           [ring = std::move(ring)](boost::system::error_code code) {
                             if (!code) ring();
                           });
  }

  void cancel() { descriptor_.cancel(); }

 private:
  asio::posix::stream_descriptor descriptor_;
};

}  // namespace herdlock::cli
