// The election machine over a store, a lease and the caller's services: does what the machine said.
#pragma once

#include <atomic>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include <herdlock/election.hpp>
#include <herdlock/lock.hpp>

#include "algo/backoff.hpp"
#include "algo/election_machine.hpp"
#include "runtime/election_work.hpp"
#include "runtime/event_waiters.hpp"
#include "runtime/side_names.hpp"
#include "runtime/store_context.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The campaigns that the caller wants no more: the campaign that has begun, or any.
enum class resignation { from_campaign, for_good };

class election_core final : public runtime::timed,
                            public runtime::closing_listener,
                            public std::enable_shared_from_this<election_core> {
 public:
  election_core(std::shared_ptr<store_context> const& context, resource name,
                election_services services, election_options options,
                runtime::lease_of whom = runtime::lease_of::user);

  resource const& name() const { return for_.name; }
  std::string const& candidate() const { return options_.candidate; }
  election_state state() const { return state_.load(std::memory_order_acquire); }
  asio::any_io_executor const& executor() const { return home_->executor(); }
  runtime::store_core const& home() const { return *home_; }

  // From any thread; they move to the executor.
  void campaign(handler<void> done);
  void resign(resignation from);
  void async_resign(handler<void> done);

 private:
  void on_due(clock::time_point now) override;
  void on_closing() override;
  void begin_campaign(std::uint64_t id, handler<void> done);
  void cancel_campaign(std::uint64_t id);
  void add_resign_waiter(std::uint64_t id, handler<void> done);
  void on(election_event event, std::uint64_t round, failure why = {},
          std::exception_ptr thrown = {});
  void post(election_event event, std::uint64_t round, failure why = {});
  void take(algo::election_row const& row, failure why, std::exception_ptr thrown);
  void tell(algo::election_row const& row, failure why, std::exception_ptr thrown,
            milliseconds back_off) const;
  void obey(algo::election_action action);
  void acquire();
  void on_acquired(std::uint64_t round, result<acquired> got);
  void start_work();
  void watch_loss();
  void rest(milliseconds pause);
  void release();
  void finish();

  std::weak_ptr<store_context> context_;  // strong while a user's term is held: the lease has it
  std::shared_ptr<runtime::store_core> const home_;
  struct {
    resource name;
    runtime::lease_of whom;
  } const for_;
  std::shared_ptr<election_services const> const services_;
  election_options const options_;
  asio::any_io_executor const where_;

  // On the executor only.
  algo::election_machine machine_;
  handler<void> done_;  // the campaign's
  std::uint64_t campaign_ = 0;
  failure outcome_;
  bool store_closes_ = false;
  runtime::event_waiters<void> resign_waiters_;
  std::optional<lease> granted_;         // not yet worked under
  std::shared_ptr<election_work> work_;  // has the lease from then on
  clock::time_point term_began_{};
  algo::backoff backoff_;
  std::optional<asio::steady_timer> timer_;  // while it rests: the store may close before us
  asio::cancellation_signal cancel_acquire_;

  // From any thread.
  std::atomic<std::uint64_t> next_campaign_{1};
  std::atomic<election_state> state_{election_state::idle};
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
