// session_grace: a lock whose last holder's session ended before it was released is not used at
// once. Whoever is first makes a mark beside the queue before it is granted the lock, and takes it
// away with its own node when it releases. Whoever finds another's mark there waits first.
//
//   first ──▶ make ──────────────────── made, or set ───────────▶ marked
//              │  ▲
// another's is │  │ the time is over: set it
//        there ▼  │
//             wait
//
// Should its callers go meanwhile, it goes on and releases: a time that was waited for is not
// begun anew, and whose mark it is cannot be in doubt.
// Why: docs/decisions/lease.md#a-mark-makes-the-successor-wait
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>

#include "stores/zookeeper/own_node.hpp"

namespace herdlock::zookeeper {

class session_grace_mark {
 public:
  using timer = asio::basic_waitable_timer<clock>;

  session_grace_mark(own_node& node, queue_entry& entry, timer& wait)
      : node_(node), entry_(entry), wait_(wait) {}

  void make(milliseconds session_grace) {
    session_grace_ = session_grace;
    write(verb::make_other);
  }
  std::string path() const { return node_.path_of(std::string(open_mark)); }

 private:
  void write(verb how);
  void on_written(verb how, reply const& answer);
  void on_read(reply const& answer);
  void wait_for_it();
  std::string text() const { return std::to_string(node_.fencing().value); }

  own_node& node_;
  queue_entry& entry_;
  timer& wait_;  ///< who has it may cancel it
  milliseconds session_grace_{0};
};

}  // namespace herdlock::zookeeper
