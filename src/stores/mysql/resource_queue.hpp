// One resource of a session-held mode, as one store sees it: the session that has it or waits for
// it, the present holder, and those of this store who wait.
//
//          ask                 the lock is ours                    nobody waits
//   empty ─────▶ seeking ───────────────────────▶ held ─── leave ──────────────▶ empty
//                  ▲  │ another has it: wait       │ ▲
//                  └──┘                            │ └── hand over to the next who waits here
//                  ▲          the session is lost  │
//                  └───────────────────────────────┘ (while somebody waits)
//
// A store queues at the server once for each resource, however many wait in it. All of it runs on
// the executor.
// Why: docs/stores/mysql.md#one-queues-at-the-server
#pragma once

#include <list>
#include <vector>

#include "stores/common/waiter.hpp"
#include "stores/mysql/lock_search.hpp"

namespace herdlock::mysql {

using stores::waiter;

class resource_queue final : public stores::waiter_queue,
                             public std::enable_shared_from_this<resource_queue> {
 public:
  resource_queue(session_state& shared, resource name);

  void ask(std::shared_ptr<waiter> const& who);
  void renew(std::shared_ptr<stores::operation<renew_reply>> const& op, owner_token const& owner,
             milliseconds ttl);
  void release(std::shared_ptr<stores::operation<release_reply>> const& op,
               owner_token const& owner);
  /// Somebody may have ended the session.
  void check();
  void on_left(waiter& who) override;
  /// The store is being closed.
  void close();

 private:
  enum class state { empty, seeking, held };
  using releasing = std::shared_ptr<stores::operation<release_reply>>;

  struct holder {
    owner_token owner;
    milliseconds ttl;
    fencing_token fencing;
    clock::time_point since;    ///< before the server was asked for it
    clock::time_point expires;  ///< unless it is renewed
  };
  using answer = session_answer;
  using task = std::function<awaitable<void>(session_protocol&, connection&, answer&)>;
  using follow_up = std::function<void(resource_queue&, answer)>;

  void seek(std::chrono::seconds wait);
  void on_taken(lock_request const& wanted, answer got);
  void on_busy(holder_info other);
  void serve(lock_request const& given, answer const& got);
  using command_done = std::function<void(resource_queue&, result<std::uint64_t> const& matched)>;
  void run_beside(std::string statement, milliseconds within, command_done then);
  void look_for_predecessor(lock_request const& given, fencing_token fencing);
  void wait_for_predecessor(lock_request const& given, fencing_token fencing);
  void prove(lock_request const& given, fencing_token fencing);
  void give_up(failure const& why);
  void run(task todo, follow_up then, int tenths_of_timeout = 9);
  void prolong(held_lock const& mine, milliseconds ttl, follow_up then);
  void use_session();
  void on_answer(answer got, follow_up const& then);
  void next();
  void leave(releasing const& op);
  void expire();
  void give_back(held_lock const& ours, releasing const& op);
  void hand_over(releasing const& op);
  void on_handed_over(lock_request const& given, answer got, releasing const& op);
  void on_released(answer const& got, releasing const& op);
  void lose();
  void vacate();
  void fail_all(sql_error const& why);
  acquire_reply as_busy() const;
  void dismiss();
  void arm();
  void watch();
  void unwatch();
  void tidy();

  bool is_holder(owner_token const& owner) const { return holder_ && holder_->owner == owner; }
  bool expired() const { return holder_ && clock::now() >= holder_->expires; }
  lock_request request_for(waiter const& who, std::chrono::seconds wait) const;
  grant grant_of(holder const& who) const;

  session_state& shared_;  ///< whoever keeps a queue keeps it, too
  resource const name_;
  asio::any_io_executor executor_;
  timer end_timer_;  ///< of the lease
  timer task_timer_;
  state state_ = state::empty;
  bool closed_ = false;
  bool busy_ = false;     ///< a task is running on the session
  bool aborted_ = false;  ///< its session was ended since it took too long
  std::shared_ptr<stores::operation<renew_reply>> renewing_;  ///< the task that runs is for it
  std::list<std::function<void()>> todo_;
  std::vector<std::shared_ptr<waiter>> waiting_;  ///< in the order they came
  std::shared_ptr<lock_search> search_;           ///< under way
  bool queued_ = false;                           ///< it waits at the server
  std::shared_ptr<connection> session_;
  std::optional<holder> holder_;
  holder_info elsewhere_;
  int in_a_row_ = 0;
  std::optional<fencing_token> opened_;  ///< under which the row of a held lock stands
  bool watching_ = false;                ///< session_
};

}  // namespace herdlock::mysql
