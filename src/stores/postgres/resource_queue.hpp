// One resource in one store of a session mode: who of this store holds it or asks for it, and who
// stands in line behind.
//
// A resource uses at most one session of the store: the holder's, or that of the first in line,
// which asks the server. A release hands the session over to the next in line here, with a new
// fencing token; after `max_in_a_row` of these it gives the lock back to the server first, so
// that other processes have their turn.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <herdlock/backend.hpp>

#include "stores/common/lease_ends.hpp"
#include "stores/common/waiter.hpp"
#include "stores/postgres/connection_pool.hpp"
#include "stores/postgres/session_statements.hpp"

namespace herdlock::postgres {

using stores::waiter;

/// What the queues of a store share.
struct store_state {
  settings what;
  asio::any_io_executor executor;
  stores::lease_ends ends;
  std::shared_ptr<command_connection> commands{};
  std::shared_ptr<connection_pool> sessions{};
  std::map<std::string, std::int64_t> lock_numbers{};  ///< locks of names whose key or row is there
  std::function<void(resource const&)> idle{};         ///< a queue is not needed any more
};

class resource_queue final : public stores::waiter_queue,
                             public std::enable_shared_from_this<resource_queue> {
 public:
  resource_queue(std::shared_ptr<store_state> state, resource name)
      : state_(std::move(state)), name_(std::move(name)), end_timer_(state_->executor) {}

  using waiter_ptr = std::shared_ptr<waiter>;
  void enter(waiter_ptr const& one);
  void renew(owner_token const& owner, milliseconds ttl, std::function<void(renew_reply)> done);
  void release(owner_token const& owner, std::function<void(release_reply)> done);
  /// From whoever has it, who is told.
  void take_away(std::function<void(release_reply)> done);
  void on_left(waiter& one) override;
  bool unused() const {
    return !holder_ && !asking_ && !session_ && waiting_.empty() && giving_up_ == 0;
  }
  /// What this store knows of its holder.
  std::optional<lease_info> info() const;
  /// How many wait here, the one that asks the server left out when it is counted there.
  std::size_t waiting() const { return waiting_.size(); }
  void close();

 private:
  struct holder {
    acquire_request request;
    fencing_token fencing;
    clock::time_point end;
  };
  enum class attempt { once, wait, next };
  enum class reason { released, taken_away };

  void look_up_lock();

  void ask();
  void take_session();
  void with_session(waiter_ptr const& one, std::shared_ptr<session> const& got);
  void send(waiter_ptr const& one, attempt how);
  void on_answer(waiter_ptr const& one, attempt how, clock::time_point sent, answer const& a);
  void confirm(waiter_ptr const& one, fencing_token fencing);
  void look_for_predecessor(waiter_ptr const& one, fencing_token fencing);
  void wait_for_predecessor(waiter_ptr const& one, fencing_token fencing);
  void close_row(std::function<void()> then);
  void expire();
  void granted(waiter_ptr const& one, fencing_token fencing, clock::time_point since);
  void refused(waiter_ptr const& one, failure const& why);
  void busy_elsewhere(waiter_ptr const& one);
  acquire_reply busy_here() const;
  void hand_over();
  void leave(reason how, std::function<void(release_reply)> done);
  void give_up_session();
  void give_back(postgres::on_answer then);
  void tell_not_held();
  void return_session();
  void drop_session(release_reply of_release = release_reply::lost);
  void tell_released(release_reply outcome);
  void tell_lost(char const* why);
  void lost();
  void arm_end();
  void rest();

  std::shared_ptr<store_state> state_;
  resource name_;
  std::int64_t lock_ = 0;  // its number, once the server is asked for it
  std::shared_ptr<session> session_;
  std::optional<holder> holder_;
  std::deque<waiter_ptr> waiting_;
  waiter_ptr asking_;  // the first in line, while the server is asked for it
  // The one whose lock we have, but not yet the right to use it. Should its caller go, it goes on
  // and releases: a time that was waited for is not begun anew.
  waiter_ptr proving_;
  std::function<void(release_reply)> released_;  // told when the server has it for the next
  int giving_up_ = 0;  // sessions whose lock is on its way back to the server
  std::vector<std::function<void(release_reply)>> not_held_;  // released by who did not have it
  asio::basic_waitable_timer<clock> end_timer_;
  std::optional<fencing_token> opened_;  ///< under which the row of a held lock stands
  int in_a_row_ = 0;
};

}  // namespace herdlock::postgres
