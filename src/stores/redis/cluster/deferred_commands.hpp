// Commands that nobody can execute now: they wait for the cluster's map, or for another try.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <herdlock/detail/async.hpp>
#include "stores/redis/client/command.hpp"

namespace herdlock::redis {

/// All members on the executor. Each command leaves it exactly once: by take_all(), to `wake` when
/// its pause is over, or failed at its deadline. One that was completed meanwhile (cancelled) is
/// forgotten then at the latest.
class deferred_commands final : public std::enable_shared_from_this<deferred_commands> {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using waker = std::function<void(command_ptr)>;
  /// Why a command that reached its deadline could not be executed, if it does not say itself.
  using reason = std::function<failure()>;

  deferred_commands(asio::any_io_executor const& executor, waker wake, reason why)
      : timer_(executor), wake_(std::move(wake)), why_(std::move(why)) {}

  /// Until `until` or its deadline. False, and nothing is taken, when max_outstanding_commands
  /// wait already.
  [[nodiscard]] bool add(command_ptr& one, time_point until, failure why = {});
  std::vector<command_ptr> take_all();
  /// Fails all of them, later. Nothing may be added any more.
  void close(failure const& why);

 private:
  struct entry {
    command_ptr one;
    failure why;  // of its wait
  };

  void arm();
  void on_alarm();

  asio::steady_timer timer_;
  waker wake_;
  reason why_;
  std::multimap<time_point, entry> waiting_;  // by the end of the pause
};

}  // namespace herdlock::redis
