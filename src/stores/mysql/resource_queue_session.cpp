// The end of a queue's session, which is the end of the lease.
#include "stores/mysql/resource_queue.hpp"

namespace herdlock::mysql {

// The session is gone, or not to be trusted: closed, it frees at the server what it may still hold.
void resource_queue::lose() {
  unwatch();
  if (holder_) {
    shared_.ends.tell(name_, holder_->owner, "its session in the server has ended");
  }
  // The next one may be on another server.
  shared_.server_checked = false;
  if (session_) shared_.sessions.drop(std::move(session_));
  vacate();
}

void resource_queue::vacate() {
  unwatch();
  session_.reset();
  opened_.reset();
  holder_.reset();
  state_ = state::empty;
  elsewhere_ = {};
  seek(std::chrono::seconds{0});
}

void resource_queue::check() {
  if (state_ == state::held && !busy_ && !session_->is_alive()) lose();
}

// The server may give the lock to another at once, so it is noticed by itself, at any time.
void resource_queue::watch() {
  if (state_ != state::held || busy_ || watching_) return;
  watching_ = session_->watch(executor_, [weak = weak_from_this()] {
    auto const self = weak.lock();
    if (!self) return;
    self->watching_ = false;
    self->check();  // lost if there is anything to read
    self->watch();
  });
}

void resource_queue::unwatch() {
  if (std::exchange(watching_, false) && session_) session_->unwatch();
}

}  // namespace herdlock::mysql
