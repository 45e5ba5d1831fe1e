// The search for a lock: on a session that is open, or a new one.
#pragma once

#include "stores/mysql/session_protocol.hpp"

namespace herdlock::mysql {

/// What came of what a session was asked.
struct session_answer {
  std::optional<sql_error> error;
  lock_result taken;
  bool yes = false;
  clock::time_point since, at;          ///< before it was asked, and behind the answer
  std::shared_ptr<connection> session;  ///< that was found, unless there is an error
};

/// All members on the executor.
class lock_search : public std::enable_shared_from_this<lock_search> {
 public:
  lock_search(std::shared_ptr<session_state> state, lock_request what)
      : wanted_(std::move(what)), state_(std::move(state)), timer_(state_->pending->executor()) {}

  awaitable<session_answer> run();
  /// Nobody wants it any more.
  void end();
  bool ended() const { return ended_; }
  /// The store is being closed.
  void close() { timer_.cancel(); }

 private:
  awaitable<session_answer> take_once();
  awaitable<void> use(std::shared_ptr<connection> one, session_answer& got);
  awaitable<void> check_server();
  awaitable<void> end_at_server(std::shared_ptr<connection> session);
  void end_when_late();

  lock_request const wanted_;
  std::shared_ptr<session_state> const state_;
  timer timer_;
  std::shared_ptr<connection> in_use_;
  bool ended_ = false;
};

}  // namespace herdlock::mysql
