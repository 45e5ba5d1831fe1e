// The search for a lock: without a thread on a session that is open, else on one.
#pragma once

#include "stores/mysql/session_state.hpp"

namespace herdlock::mysql {

/// What came of what a session was asked.
struct session_answer {
  std::optional<sql_error> error;
  lock_result taken;
  bool yes = false;
  clock::time_point since, at;          ///< before it was asked, and behind the answer
  std::shared_ptr<connection> session;  ///< that was found, unless there is an error
};

class lock_search : public std::enable_shared_from_this<lock_search> {
 public:
  using handler = std::function<void(session_answer)>;

  lock_search(std::shared_ptr<session_state> state, lock_request what, handler done)
      : wanted(std::move(what)),
        state_(std::move(state)),
        done_(std::move(done)),
        timer_(state_->pending->executor()) {}

  lock_request const wanted;

  /// The handler is called on the executor, as an event; never, when the store is being closed.
  void begin();
  /// From any thread: nobody wants it any more.
  void end();
  bool ended() const;
  /// The store is being closed.
  void close() { timer_.cancel(); }

 private:
  // One that was made without a thread, and left the outcome open.
  struct attempt {
    std::shared_ptr<connection> session;
    clock::time_point since;
    std::optional<sql_error> error;
  };

  void ask_here(std::shared_ptr<connection> const& session);
  void ask_on_a_thread(std::optional<attempt> begun);
  void finish(session_answer got);
  session_answer take(std::optional<attempt> begun);
  session_answer take_once(std::optional<attempt> begun);
  void check_server();
  void end_at_server(std::shared_ptr<connection> session);
  bool use(std::shared_ptr<connection> one);

  std::shared_ptr<session_state> const state_;
  handler done_;
  asio::basic_waitable_timer<clock> timer_;
  mutable std::mutex mutex_;
  std::shared_ptr<connection> in_use_;  ///< by its thread
  bool ended_ = false;
};

}  // namespace herdlock::mysql
