// session_grace: a lock whose last holder's session ended before it was released is not used at
// once. Whoever is first makes a mark beside the queue before it is granted the lock, and
// takes it away with its own node when it releases. Whoever finds another's mark there waits first.
//
//   first ──▶ marking ──────────────────── made, or set ────────────────────▶ held
//                │  ▲
//   another's is │  │ the grace is over: set it
//   there        ▼  │
//             in_grace
//
// Should its callers go meanwhile, it goes on and releases: a grace that was waited for is not
// begun anew, and whose mark it is cannot be in doubt.
#include <zookeeper/zookeeper.h>

#include "stores/zookeeper/queue_entry.hpp"
#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

bool queue_entry::graceful() const { return store_->how().session_grace > milliseconds{0}; }

// In one transaction with the proof that our node is there: nobody else is first then.
void queue_entry::set_mark(verb how) {
  state_ = state::marking;
  ++turn_;
  ask({how, path_of(node_), std::to_string(fencing_.value), session_, mark()},
      how == verb::make_other ? &queue_entry::on_mark_made : &queue_entry::on_mark_set);
}

void queue_entry::on_mark_made(reply answer) {
  switch (answer.code) {
    case ZOK:
      return hold_marked(answer.sent);
    case ZCONNECTIONLOSS:
      return set_mark(verb::make_other);
    case ZNODEEXISTS:
      return step(verb::get, mark(), &queue_entry::on_mark_read);
    case ZNONODE:  // our own
      return waiters_.empty() ? be_gone() : enter_again();
    case ZSESSIONEXPIRED:
      return;
    default:
      return fail_and_leave(answer.code, mark());
  }
}

void queue_entry::on_mark_read(reply answer) {
  switch (answer.code) {
    case ZOK:  // our own, if the answer to its making was lost
      if (answer.text == std::to_string(fencing_.value)) return set_mark(verb::set_other);
      return wait_for_grace();
    case ZCONNECTIONLOSS:
    case ZNONODE:
      return set_mark(verb::make_other);
    case ZSESSIONEXPIRED:
      return;
    default:
      return fail_and_leave(answer.code, mark());
  }
}

void queue_entry::wait_for_grace() {
  state_ = state::in_grace;
  timer_.expires_after(store_->how().session_grace);
  timer_.async_wait([weak = weak_from_this(), turn = ++turn_](boost::system::error_code ec) {
    auto self = weak.lock();
    if (!ec && self && self->turn_ == turn) self->set_mark(verb::set_other);
  });
}

void queue_entry::on_mark_set(reply answer) {
  switch (answer.code) {
    case ZOK:
      return hold_marked(answer.sent);
    case ZCONNECTIONLOSS:
      return set_mark(verb::set_other);
    case ZNONODE:  // one of the two
      return set_mark(verb::make_other);
    case ZSESSIONEXPIRED:
      return;
    default:
      return fail_and_leave(answer.code, mark());
  }
}

void queue_entry::hold_marked(clock::time_point since) {
  marked_ = true;
  bool const wanted = !waiters_.empty();
  hold(since);
  if (!wanted) leave(reason::released);
}

}  // namespace herdlock::zookeeper
