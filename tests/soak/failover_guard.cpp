#include "failover_guard.hpp"

#include <algorithm>

namespace herdlock_test {

// The other's lease is asked first and ours second: had its end come between the two, ours would
// still have been granted while it was valid.
void failover_guard::enter(herdlock::lease const& held) {
  std::lock_guard const alone(mutex_);
  ++found_.grants;
  auto const valid = [](auto const* one) { return one->valid(); };
  if (std::any_of(inside_.begin(), inside_.end(), valid) && held.valid()) ++found_.overlaps;
  auto const fencing = held.fencing().value;
  if (fencing <= highest_) ++found_.steps_back;
  highest_ = std::max(highest_, fencing);
  inside_.push_back(&held);
}

void failover_guard::leave(herdlock::lease const& held) {
  std::lock_guard const alone(mutex_);
  if (!held.valid()) ++found_.lost;
  std::erase(inside_, &held);
}

failover_guard::findings failover_guard::so_far() const {
  std::lock_guard const alone(mutex_);
  return found_;
}

bool failover_guard::occupied() const {
  std::lock_guard const alone(mutex_);
  return !inside_.empty();
}

}  // namespace herdlock_test
