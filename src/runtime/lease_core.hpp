// The lease machine over a store and the timer queue: does what the machine said.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <herdlock/lock.hpp>

#include "algo/lease_machine.hpp"
#include "runtime/event_waiters.hpp"
#include "runtime/lease_proof.hpp"
#include "runtime/side_names.hpp"
#include "runtime/store_core.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

/// One grant: who, what, and until when it is proved.
struct grant_record {
  resource name;
  owner_token owner;
  fencing_token fencing;
  algo::lease_validity first;
  /// The way in which the requests for it may arrive.
  runtime::arrival requests = runtime::arrival::in_order;
  std::thread::id taken_by{};  ///< of a blocking call
  runtime::lease_of whom = runtime::lease_of::user;
};

class lease_core final : public runtime::timed,
                         public runtime::enrolled,
                         public std::enable_shared_from_this<lease_core> {
 public:
  lease_core(std::shared_ptr<runtime::store_core> home, grant_record what,
             acquire_options const& options);

  /// The user's handle on a new grant; starts the renewals. On the executor.
  static lease start(std::shared_ptr<store_context> context, grant_record what,
                     acquire_options const& options);

  // From any thread.
  resource const& name() const override { return what_.name; }
  owner_token const& owner() const override { return what_.owner; }
  fencing_token fencing() const { return what_.fencing; }
  milliseconds ttl() const override { return limits_.ttl; }
  asio::any_io_executor const& executor() const { return home_->executor(); }
  runtime::store_core const& home() const { return *home_; }
  runtime::lease_proof const& proof() const { return proof_; }
  void detach();  // no more renewals, no release

  // From any thread; they move to the executor.
  void wait_lost(handler<void> done);
  void renew_now(handler<renew_reply> done);
  void give_back(handler<release_reply> done);
  void leave(milliseconds time, left_as how, handler<release_reply> done);
  void abandon();  // the handle is gone: give back, nobody waits for the answer

 private:
  void on_due(clock::time_point now) override;
  void on_session_end(lease_end const& what) override;
  void renew_by(clock::time_point at) override;
  void on_closing() override;
  void leave_lists();
  void obey(algo::lease_action action);
  void renew();
  void on_renewed(result<renew_reply> reply);
  void lose();
  void add_loss_waiter(std::uint64_t id, handler<void> done);
  void add_renewal_waiter(std::uint64_t id, handler<renew_reply> done);
  void begin_release(std::uint64_t id, handler<release_reply> done);
  void ask_release();
  void on_released(result<release_reply> reply);
  void note_end(lease_event_kind how, failure why = {});

  std::shared_ptr<runtime::store_core> const home_;
  grant_record const what_;
  algo::lease_limits const limits_;
  clock::time_point const granted_ = clock::now();  // or a little later: for what counts from it

  // On the executor only.
  algo::lease_machine machine_;
  runtime::event_waiters<void> loss_waiters_;
  runtime::event_waiters<renew_reply> renewal_waiters_;
  runtime::event_waiters<release_reply> release_waiters_;
  std::optional<result<release_reply>> released_;
  bool releasing_ = false;
  struct parting {
    leave_request as;
    clock::time_point until;
  };
  std::optional<parting> left_;  // it is not released but left
  bool asked_again_ = false;
  bool ended_ = false;  // and counted
  std::string told_;    // why it ended, by the store's words

  // From any thread.
  runtime::lease_proof proof_;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
