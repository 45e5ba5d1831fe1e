#include "stores/redis/hot/monitor_lag.hpp"

namespace herdlock::redis {

bool monitor_lag::is_too_great(std::chrono::microseconds executed, std::chrono::microseconds read) {
  auto const behind = read - executed;
  // Who cannot follow falls behind line by line. So much between two lines is something else: the
  // server's clock was set back, or we were stopped and are about to catch up. It is measured anew
  // from there, once, so that a clock does not end a look that follows.
  bool const jumped = !has_jumped_ && last_ && behind - *last_ > most;
  has_jumped_ = has_jumped_ || jumped;
  if (!last_ || jumped || behind < least_) least_ = behind;
  last_ = behind;
  return behind - least_ > most;
}

}  // namespace herdlock::redis
