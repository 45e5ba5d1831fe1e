// Those of one store who wait in the table mode's queue.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <herdlock/backend.hpp>

#include "algo/unanswered_leaves.hpp"
#include "stores/common/waiter.hpp"
#include "stores/postgres/command_connection.hpp"
#include "stores/postgres/table_statements.hpp"

namespace herdlock::postgres {

/// What the function of acquire answers.
struct lease_row {
  std::string holder;
  fencing_token fencing;
  milliseconds left;   ///< rounded up
  bool fresh = false;  ///< granted by this very question, for the whole ttl
};
lease_row to_lease_row(rows const& found);
acquire_reply to_acquire_reply(lease_row const& row, acquire_request const& asked,
                               clock::time_point sent);
statement acquire_statement(acquire_request const& request, asking how, std::string const& channel,
                            std::int64_t waiter);

using stores::waiter;

/// Those of one owner for one resource share an entry of the queue. An entry is asked for again
/// when the store pushes that it was handed the lease, when the holder's time is over (only the
/// first in line here does that), and when its own time is over. Whatever the reason, the answer
/// tells all: the same owner gets the same grant. An entry that the server has taken out, since
/// this process was taken for one that hangs, is entered again, and with it all others for the
/// resource.
class table_queue final : public stores::waiter_queue,
                          public std::enable_shared_from_this<table_queue> {
 public:
  table_queue(asio::any_io_executor executor, std::shared_ptr<command_connection> commands,
              std::string channel)
      : executor_(std::move(executor)),
        commands_(std::move(commands)),
        channel_(std::move(channel)),
        leave_timer_(executor_) {}

  void enter(std::shared_ptr<waiter> const& one);
  /// This owner asks anew: what is left of an earlier wait of his must not take that away.
  void forget_leave(acquire_request const& asked);
  void on_notification(std::string const& payload);
  void on_down(failure const& why);

 private:
  struct entry {
    acquire_request request;
    std::vector<std::shared_ptr<waiter>> callers{};
    std::optional<asio::basic_waitable_timer<clock>> alarm{};
    clock::time_point answered{};  // when the last question that was answered had been sent
    fencing_token seen{};          // the holder's at that answer
    bool asked = false;            // an answer is on its way
    bool ask_again = false;        // something happened since
    bool leaving = false;          // the answer on its way is the last
    bool queued = false;           // at the server, as far as is known
  };
  using entries = std::map<std::int64_t, entry>;
  using leaver = std::pair<std::string, std::string>;  // name and owner

  void ask(std::int64_t number, asking how);
  void on_answer(std::int64_t number, clock::time_point sent, reply const& answered);
  void note_queued(std::int64_t number, rows const& answered);
  void still_busy(std::int64_t number, lease_row const& row);
  bool take_up(std::int64_t number, fencing_token token);
  void complete_all(std::int64_t number, result<acquire_reply> const& outcome);
  void time_is_up(std::shared_ptr<waiter> const& one);
  void on_left(waiter& one) override;
  bool is_first(std::int64_t number) const;
  void wake_next(resource const& name);
  void follow(algo::leave_action const& what);
  void send_leave(std::int64_t number);
  void forget_leaver(std::int64_t number);
  void forget_leaves();

  asio::any_io_executor executor_;
  std::shared_ptr<command_connection> commands_;
  std::string channel_;
  entries entries_;  // by number: in the order they came
  std::int64_t last_ = 0;
  algo::unanswered_leaves leaves_;
  std::map<std::int64_t, leaver> leaving_;  // by their entries' numbers; those of leaves_
  std::map<leaver, std::int64_t> leavers_;
  std::uint64_t session_ = 0;  // counts them
  asio::basic_waitable_timer<clock> leave_timer_;
};

}  // namespace herdlock::postgres
