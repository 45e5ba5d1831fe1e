// One acquisition: asks the store, backs off while busy, proves a grant that came late, and leaves
// nothing behind when the caller has gone.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <thread>

#include <herdlock/lock.hpp>

#include "algo/backoff.hpp"
#include "runtime/lease_core.hpp"
#include "runtime/side_names.hpp"
#include "runtime/store_context.hpp"

namespace herdlock::runtime {

/// Trouble with a store that may pass by itself, and after which the outcome is unknown.
bool may_pass(failure const& why);

/// The answer to trouble with the store that may pass, while there is time left.
enum class on_trouble { retry, report };

/// Created on any thread; runs on the store's executor; keeps itself alive.
class acquire_op final : public closing_listener, public std::enable_shared_from_this<acquire_op> {
 public:
  acquire_op(std::shared_ptr<detail::store_context> const& context, resource name,
             acquire_options const& options, handler<acquired> done);

  /// Before start(): tokens with a label of the caller's, 1 to limits::max_label_bytes long.
  void stand_as(std::string label, on_trouble trouble, lease_of whom);

  /// `by`: the thread that the call blocks, if it blocks one.
  void start(std::thread::id by = {});
  /// Proves the lease of a ticket by a renewal instead of acquiring one.
  void start_restore(lease_ticket const& ticket);

  asio::any_io_executor const& executor() const { return core_->executor(); }

 private:
  owner_token fresh_owner() const;
  void listen_to_cancellation();
  void cancel();
  void on_closing() override { cancel(); }
  void begin();
  void ask();
  void on_reply(result<acquire_reply> reply);
  void on_grant(grant const& granted);
  bool is_worth_having() const;
  void on_busy(busy const& who);
  void on_failure(failure why);
  void back_off(milliseconds at_most);
  void prove(fencing_token fencing);
  void on_proved(grant const& proved, result<renew_reply> reply);
  void hand_out(fencing_token fencing);
  void clean_up();
  void fail_closed();
  void finish(result<acquired> outcome);
  milliseconds left() const;
  void tell_outcome(result<acquired> const& outcome);

  // Weak: a waiter does not keep open a store whose last handle is gone; it is cancelled.
  std::weak_ptr<detail::store_context> context_;
  std::shared_ptr<store_core> core_;
  resource const name_;
  std::string label_;  // empty: this host and process
  on_trouble trouble_ = on_trouble::retry;
  owner_token owner_;
  acquire_options const options_;
  handler<acquired> done_;  // empty once completed
  clock::time_point deadline_;
  // Before the first request whose grant may be the one we are told of: a retry after a lost reply
  // is answered with the first grant, which runs since then.
  std::optional<clock::time_point> sent_;
  milliseconds first_ttl_;  // of the lease's first validity, from sent_ on
  algo::backoff backoff_;
  struct {
    clock::time_point const at = clock::now();
    std::thread::id by;
    lease_of whom = lease_of::user;
  } asked_;
  bool counted_ = false;     // among those that wait
  bool of_another_ = false;  // another held it meanwhile
  bool unknown_ = false;     // a request had no answer: it may be granted, now or later
  bool restoring_ = false;   // then the lease was there before us and is not ours to clean up
  asio::cancellation_signal cancel_store_;
  std::optional<asio::steady_timer> timer_;
};

}  // namespace herdlock::runtime
