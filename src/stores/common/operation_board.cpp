#include "stores/common/operation_board.hpp"

#include <utility>

namespace herdlock::stores {

void operation_board::add(std::shared_ptr<board_entry> const& entry) {
  auto at = pending_.end();
  while (at != pending_.begin() && (*std::prev(at))->deadline() > entry->deadline()) --at;
  bool const first = at == pending_.begin();
  entry->place_ = pending_.insert(at, entry);
  if (first) arm();
}

void operation_board::remove(board_entry& entry) {
  auto const place = std::exchange(entry.place_, std::nullopt);
  if (!place) return;
  pending_.erase(*place);
  if (pending_.empty()) timer_.cancel();
}

void operation_board::close() {
  closed_ = true;
  while (!pending_.empty()) {
    auto const first = pending_.front();
    first->fail(errc::canceled, settings_.closed);
  }
}

// Setting the time again ends the wait that was armed for a later deadline.
void operation_board::arm() {
  timer_.expires_at(pending_.front()->deadline());
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (!ec && self) self->on_timer();
  });
}

void operation_board::on_timer() {
  auto const now = clock::now();
  while (!pending_.empty() && pending_.front()->deadline() <= now) {
    auto const late = pending_.front();
    late->fail(errc::timed_out, settings_.late);
  }
  if (!pending_.empty()) arm();
}

}  // namespace herdlock::stores
