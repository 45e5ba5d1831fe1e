#include "stores/zookeeper/session_grace_mark.hpp"

#include <zookeeper/zookeeper.h>

#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

// In one transaction with the proof that our node is there: nobody else is first then.
void session_grace_mark::write(verb how) {
  node_.begin();
  node_.ask({how, node_.path(), text(), node_.session_number(), path()},
            [this, how](reply const& answer) { on_written(how, answer); });
}

void session_grace_mark::on_written(verb how, reply const& answer) {
  switch (answer.code) {
    case ZOK:
      return entry_.on_marked(answer.sent);
    case ZCONNECTIONLOSS:
      return write(how);
    case ZNODEEXISTS:  // only where it is made
      return node_.ask_next(verb::get, path(), [this](reply const& found) { on_read(found); });
    case ZNONODE:  // of two that were to be there, one
      if (how == verb::set_other) return write(verb::make_other);
      return entry_.on_mark_without_node();
    case ZSESSIONEXPIRED:
      return;
    default:
      return entry_.fail_and_leave(answer.code, path());
  }
}

void session_grace_mark::on_read(reply const& answer) {
  switch (answer.code) {
    case ZOK:  // our own, if the answer to its making was lost
      if (answer.text == text()) return write(verb::set_other);
      return wait_for_it();
    case ZCONNECTIONLOSS:
    case ZNONODE:
      return write(verb::make_other);
    case ZSESSIONEXPIRED:
      return;
    default:
      return entry_.fail_and_leave(answer.code, path());
  }
}

void session_grace_mark::wait_for_it() {
  wait_.expires_after(session_grace_);
  wait_.async_wait(
      [this, holder = node_.holder(), turn = node_.begin()](boost::system::error_code ec) {
        auto const alive = holder.lock();
        if (!ec && alive && node_.turn() == turn) write(verb::set_other);
      });
}

}  // namespace herdlock::zookeeper
