// One timer on CLOCK_BOOTTIME. Asio's steady timer stands still while the machine is suspended; a
// lease does not.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>

#include <herdlock/types.hpp>

namespace herdlock::runtime {

/// Calls `on_fire` on the executor at or after the time it was armed for. All members on the
/// executor. Arming costs one system call, and only when the new time is the earlier one: firing
/// early is harmless to the user, who looks at the clock and arms again.
class boot_timer : public std::enable_shared_from_this<boot_timer> {
 public:
  boot_timer(boost::asio::any_io_executor const& executor, std::function<void()> on_fire);

  /// Fires at `at` or earlier.
  void arm_no_later_than(clock::time_point at);
  /// Never fires again; drops `on_fire`.
  void close();

 private:
  void listen();
  void fire_after_trouble();

  boost::asio::posix::stream_descriptor descriptor_;
  std::function<void()> on_fire_;
  clock::time_point armed_ = clock::time_point::max();
  bool listening_ = false;
};

}  // namespace herdlock::runtime
