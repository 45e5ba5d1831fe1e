#include "stores/memory/store_state.hpp"

#include <map>

#include "stores/common/shared_timer.hpp"
#include "types/process_bound.hpp"

namespace herdlock::memory {

namespace {

// The spaces of this process that have a name.
struct named_spaces {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<store_state>> by_name;
};

}  // namespace

std::shared_ptr<store_state> store_state::named(std::string const& name, bounds limits) {
  if (name.empty()) return std::make_shared<store_state>(limits);
  auto& spaces = detail::per_process<named_spaces>();
  std::lock_guard alone(spaces.mutex);
  std::erase_if(spaces.by_name, [](auto const& known) { return known.second.expired(); });
  auto found = spaces.by_name[name].lock();
  if (!found) spaces.by_name[name] = found = std::make_shared<store_state>(limits);
  return found;
}

std::shared_ptr<store_state> store_state::find(std::string const& name) {
  auto& spaces = detail::per_process<named_spaces>();
  std::lock_guard alone(spaces.mutex);
  auto const known = spaces.by_name.find(name);
  return known == spaces.by_name.end() ? nullptr : known->second.lock();
}

void store_state::join(std::shared_ptr<endpoint> home) {
  std::lock_guard alone(mutex_);
  homes_.push_back(std::move(home));
}

void store_state::leave(endpoint const& home, failure const& why) {
  std::lock_guard alone(mutex_);
  leases_.cancel_all(home, why);
  values_.cancel_all(home, why);
  exchange_.leave(home);
  set_timers();
  std::erase_if(homes_, [&](auto const& one) { return one.get() == &home; });
}

void store_state::cancel(std::uint64_t id, failure const& why) {
  std::lock_guard alone(mutex_);
  leases_.cancel(id, why);
  values_.cancel(id, why);
  set_timers();
}

// A timer runs only for a handle somebody waits through (what expires unseen is cleared by the next
// visit), and for the first thing due anywhere in the space: a lease taken through one handle may
// end a wait of another. Timers belong to their executors, so they are set there.
void store_state::set_timers() {
  clock::time_point next = due_.next();
  for (auto const& home : homes_) {
    clock::time_point wanted = home->waiting > 0 ? next : clock::time_point::max();
    bool idle = wanted == clock::time_point::max();
    if (idle ? home->armed_for == wanted : home->armed_for <= wanted) continue;
    home->armed_for = wanted;
    asio::post(home->executor, [self = weak_from_this(), home] {
      if (auto alive = self.lock()) {
        alive->arm(home);
      } else {
        home->timer.cancel();
      }
    });
  }
}

void store_state::arm(std::shared_ptr<endpoint> const& home) {
  std::lock_guard alone(mutex_);
  if (home->armed_for == clock::time_point::max()) {
    home->timer.cancel();
    return;
  }
  stores::run_at(home->timer, home->armed_for, weak_from_this(),
                 [home](store_state& self) { self.on_timer(*home); });
}

void store_state::on_timer(endpoint& home) {
  std::lock_guard alone(mutex_);
  home.armed_for = clock::time_point::max();
  due_.run(clock::now());
  set_timers();
}

}  // namespace herdlock::memory
