#include "stores/redis/queue/grant_subscriptions.hpp"

namespace herdlock::redis {

void grant_subscriptions::add(std::shared_ptr<connection> const& commands,
                              std::shared_ptr<connection> const& pushes) {
  auto made = std::make_shared<grant_subscription>(commands, pushes);
  pushes->attach(made);
  subscriptions_.emplace(commands.get(), std::move(made));
}

void grant_subscriptions::report_to(std::weak_ptr<grant_listener> const& listener) {
  listener_ = listener;
  for (auto const& [commands, one] : subscriptions_) one->report_to(listener);
}

grant_subscriptions::subscription_ptr const& grant_subscriptions::at(connection& commands) {
  auto const found = subscriptions_.find(&commands);
  if (found != subscriptions_.end()) return found->second;
  auto const wire = commands.shared_from_this();
  add(wire, wire->make_event_connection());
  auto const& made = subscriptions_.at(&commands);
  made->report_to(listener_);
  return made;
}

void grant_subscriptions::forget(connection const& commands) {
  auto const node = subscriptions_.extract(&commands);
  if (!node.empty()) node.mapped()->close();
}

void grant_subscriptions::beat(milliseconds at_least_every) {
  for (auto const& [commands, one] : subscriptions_) {
    if (one->in_use()) one->beat(at_least_every);
  }
}

void grant_subscriptions::close() {
  for (auto const& [commands, one] : std::exchange(subscriptions_, {})) one->close();
}

}  // namespace herdlock::redis
