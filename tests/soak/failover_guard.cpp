#include "failover_guard.hpp"

#include <algorithm>

namespace herdlock_test {

// The other's lease is asked first and ours second: had its end come between the two, ours would
// still have been granted while it was valid.
void failover_guard::enter(std::string const& name, herdlock::lease const& held) {
  std::lock_guard const alone(mutex_);
  ++found_.grants;
  auto& [inside, highest] = rooms_[name];
  auto const valid = [](auto const* one) { return one->valid(); };
  if (std::any_of(inside.begin(), inside.end(), valid) && held.valid()) ++found_.overlaps;
  auto const fencing = held.fencing().value;
  if (fencing <= highest) ++found_.steps_back;
  highest = std::max(highest, fencing);
  inside.push_back(&held);
}

void failover_guard::leave(std::string const& name, herdlock::lease const& held) {
  std::lock_guard const alone(mutex_);
  if (!held.valid()) ++found_.lost;
  std::erase(rooms_[name].inside, &held);
}

failover_guard::findings failover_guard::so_far() const {
  std::lock_guard const alone(mutex_);
  return found_;
}

bool failover_guard::occupied(std::string const& name) const {
  std::lock_guard const alone(mutex_);
  auto const found = rooms_.find(name);
  return found != rooms_.end() && !found->second.inside.empty();
}

}  // namespace herdlock_test
