#include "stores/redis/client/subscription_connection.hpp"

namespace herdlock::redis {

void subscription_connection::attach(std::weak_ptr<connection_listener> listener) {
  listeners_.at(attached_++) = std::move(listener);
}

void subscription_connection::open() {
  if (std::exchange(opened_, true)) return;
  line_->open(weak_from_this());
}

void subscription_connection::on_connection_up() {
  for (auto const& one : listeners_) {
    if (auto const listener = one.lock()) listener->on_connection_up();
  }
}

void subscription_connection::on_connection_down() {
  for (auto const& one : listeners_) {
    if (auto const listener = one.lock()) listener->on_connection_down();
  }
}

void subscription_connection::on_message(reply const& message) {
  for (auto const& one : listeners_) {
    if (auto const listener = one.lock()) listener->on_message(message);
  }
}

}  // namespace herdlock::redis
