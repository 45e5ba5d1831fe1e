#include "stores/sqlite/command_board.hpp"

namespace herdlock::sqlite {

void command_board::add(std::shared_ptr<board_entry> const& entry) {
  entry->place = pending_.insert(pending_.end(), entry);
  if (pending_.size() == 1) arm();
}

void command_board::remove(board_entry& entry) {
  pending_.erase(entry.place);
  if (pending_.empty()) timer_.cancel();
}

void command_board::close() {
  while (!pending_.empty()) {
    auto first = pending_.front();
    first->fail(errc::canceled, file_.path + " is being closed");
  }
}

void command_board::arm() {
  timer_.expires_at(pending_.front()->deadline());
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto self = weak.lock();
    if (ec || !self) return;
    auto now = clock::now();
    while (!self->pending_.empty() && self->pending_.front()->deadline() <= now) {
      auto late = self->pending_.front();
      late->fail(errc::timed_out, self->file_.path + " did not answer within " +
                                      std::to_string(self->file_.timeout.count()) +
                                      " ms; the disk hangs or too many commands wait for it");
    }
    if (!self->pending_.empty()) self->arm();
  });
}

}  // namespace herdlock::sqlite
