// The end of a seat's session, which is the end of the lease.
#include <fcntl.h>

#include "stores/mysql/seat.hpp"

namespace herdlock::mysql {

// The session is gone, or not to be trusted: closed, it frees at the server what it may still hold.
void seat::lose() {
  auto const where = hall_.lock();
  if (where && holder_) {
    where->ends.tell(name_, holder_->owner, "its session in the server has ended");
  }
  // The next one may be on another server.
  if (where) where->server_checked = false;
  if (where && session_) where->with->sessions.drop(std::move(session_));
  vacate();
}

void seat::vacate() {
  watched_.reset();
  watching_ = false;
  session_.reset();
  opened_.reset();
  holder_.reset();
  state_ = state::empty;
  rival_ = {};
  seek(std::chrono::seconds{0});
}

void seat::check() {
  if (state_ == state::held && !busy_ && !session_->is_alive()) lose();
}

// The server may give the lock to another at once, so it is noticed by itself, at any time.
void seat::watch() {
  if (state_ != state::held || busy_ || watching_) return;
  if (!watched_) {
    int const copy = ::fcntl(session_->descriptor(), F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return;
    watched_.emplace(executor_, copy);
  }
  watching_ = true;
  watched_->async_wait(asio::posix::stream_descriptor::wait_read,
                       [weak = weak_from_this()](boost::system::error_code ec) {
                         auto const self = weak.lock();
                         if (ec || !self) return;
                         self->watching_ = false;
                         self->check();  // lost if there is anything to read
                         self->watch();
                       });
}

}  // namespace herdlock::mysql
