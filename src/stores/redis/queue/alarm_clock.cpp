#include "stores/redis/queue/alarm_clock.hpp"

namespace herdlock::redis {

void alarm_clock::set(std::uint64_t id, time_point when) {
  cancel(id);
  times_[id] = when;
  auto const at = order_.emplace(when, id).first;
  if (at == order_.begin()) arm();
}

void alarm_clock::set_no_later(std::uint64_t id, time_point when) {
  auto const found = times_.find(id);
  if (found == times_.end() || when < found->second) set(id, when);
}

void alarm_clock::cancel(std::uint64_t id) {
  auto const found = times_.find(id);
  if (found == times_.end()) return;
  order_.erase({found->second, id});
  times_.erase(found);
}

void alarm_clock::close() {
  ring_ = nullptr;
  order_.clear();
  times_.clear();
  timer_.cancel();
}

void alarm_clock::arm() {
  if (order_.empty() || !ring_) return;
  timer_.expires_at(order_.begin()->first);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (self && !ec) self->on_timer();
  });
}

void alarm_clock::on_timer() {
  auto const now = std::chrono::steady_clock::now();
  while (ring_ && !order_.empty() && order_.begin()->first <= now) {
    auto const id = order_.begin()->second;
    cancel(id);
    ring_(id);
  }
  arm();
}

}  // namespace herdlock::redis
