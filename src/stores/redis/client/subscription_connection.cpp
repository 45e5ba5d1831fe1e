#include "stores/redis/client/subscription_connection.hpp"

namespace herdlock::redis {

void push_connection::attach(std::weak_ptr<link_observer> listener) {
  listeners_.at(attached_++) = std::move(listener);
}

void push_connection::open() {
  if (std::exchange(opened_, true)) return;
  line_->open(weak_from_this());
}

void push_connection::on_link_up() {
  for (auto const& one : listeners_) {
    if (auto const listener = one.lock()) listener->on_link_up();
  }
}

void push_connection::on_link_down() {
  for (auto const& one : listeners_) {
    if (auto const listener = one.lock()) listener->on_link_down();
  }
}

void push_connection::on_message(reply const& message) {
  for (auto const& one : listeners_) {
    if (auto const listener = one.lock()) listener->on_message(message);
  }
}

}  // namespace herdlock::redis
