#include "stores/common/pending_operations.hpp"

#include <utility>

namespace herdlock::stores {

void pending_operations::add(std::shared_ptr<operation_base> const& entry) {
  // Most often it is the last: then it costs nothing to find its place.
  entry->place_ = pending_.emplace_hint(pending_.end(), entry->deadline(), entry);
  auto const first = pending_.begin()->first;
  if (!armed_for_ || first < *armed_for_) arm();
}

void pending_operations::remove(operation_base& entry) {
  auto const place = std::exchange(entry.place_, std::nullopt);
  if (!place) return;
  pending_.erase(*place);
  if (pending_.empty()) rest();
}

// Soon, not at once: whoever does one thing after the other begins the next one before, and finds
// the timer armed. Armed for longer, it would keep the context running.
void pending_operations::rest() {
  if (std::exchange(resting_, true)) return;
  asio::post(executor_, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->resting_ = false;
    if (!self->pending_.empty()) return;
    self->armed_for_ = std::nullopt;
    self->timer_.cancel();
  });
}

void pending_operations::close() {
  closed_ = true;
  while (!pending_.empty()) {
    auto const first = pending_.begin()->second;
    first->fail(errc::canceled, settings_.closed);
  }
}

// Setting the time again ends the wait that was armed for a later deadline.
void pending_operations::arm() {
  armed_for_ = pending_.begin()->first;
  timer_.expires_at(*armed_for_);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (!ec && self) self->on_timer();
  });
}

void pending_operations::on_timer() {
  armed_for_ = std::nullopt;
  auto const now = clock::now();
  while (!pending_.empty() && pending_.begin()->first <= now) {
    auto const late = pending_.begin()->second;
    late->fail(errc::timed_out, settings_.late);
  }
  if (!pending_.empty()) arm();
}

}  // namespace herdlock::stores
