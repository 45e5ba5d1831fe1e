#include "stores/redis/queue/grant_subscriptions.hpp"

namespace herdlock::redis {

void grant_channels::add(std::shared_ptr<link> const& commands,
                         std::shared_ptr<push_connection> const& pushes) {
  auto made = std::make_shared<grant_channel>(commands, pushes);
  pushes->attach(made);
  channels_.emplace(commands.get(), std::move(made));
}

void grant_channels::report_to(std::weak_ptr<grant_listener> const& listener) {
  listener_ = listener;
  for (auto const& [commands, one] : channels_) one->report_to(listener);
}

grant_channels::channel_ptr const& grant_channels::at(link& commands) {
  auto const found = channels_.find(&commands);
  if (found != channels_.end()) return found->second;
  auto const wire = commands.shared_from_this();
  add(wire, std::make_shared<push_connection>(wire->make_event_link()));
  auto const& made = channels_.at(&commands);
  made->report_to(listener_);
  return made;
}

void grant_channels::forget(link const& commands) {
  auto const node = channels_.extract(&commands);
  if (!node.empty()) node.mapped()->close();
}

void grant_channels::beat(milliseconds at_least_every) {
  for (auto const& [commands, one] : channels_) {
    if (one->in_use()) one->beat(at_least_every);
  }
}

void grant_channels::close() {
  for (auto const& [commands, one] : std::exchange(channels_, {})) one->close();
}

}  // namespace herdlock::redis
