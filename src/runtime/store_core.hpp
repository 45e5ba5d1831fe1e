// The things that all leases and caches of one opened store share: the ports, the executor, the one
// timer, and the leases that are still being given back.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/intrusive/list.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/backend.hpp>

#include "runtime/cache_counters.hpp"
#include "runtime/lease_counters.hpp"
#include "runtime/lease_roll.hpp"
#include "runtime/timer_queue.hpp"
#include "types/process_bound.hpp"

namespace herdlock::runtime {

/// How many leases with an unknown outcome may be cleaned up at once; more end by their ttl.
inline constexpr std::size_t max_clean_ups = 10'000;
/// How long closing waits for leases that are being given back.
inline constexpr milliseconds close_limit{1000};

/// Told when the store closes, so that it can take back what it has under way. Linked on the
/// executor.
class closing_listener : public boost::intrusive::list_base_hook<
                             boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  virtual void on_closing() = 0;

 protected:
  closing_listener() = default;
  closing_listener(closing_listener const&) = delete;
  closing_listener& operator=(closing_listener const&) = delete;
  virtual ~closing_listener() = default;
};

/// May the request that is being cleaned up still arrive? One on the same healthy connection is
/// served before what we send now; one on a connection that was given up may come later.
/// One whose owner has been released since is told so again, which is no answer either.
enum class arrival { in_order, may_be_late, late_after_release };

/// How long a request without an answer is thought to be on its way (B7).
inline constexpr milliseconds late_arrival{10'000};

/// How far closing has come.
struct closing_progress {
  std::size_t giving_back = 0;  ///< releases that it waits for
  std::size_t campaigns = 0;    ///< which resign for it
  bool begun = false;
  bool leases_ended = false;
  bool over = false;
  std::optional<asio::steady_timer> timer{};  ///< while it waits
  std::vector<std::function<void()>> to_tell{};
};

/// All members on the executor, except executor(), traits(), display_name(), told(), caches(),
/// metrics() and inherited().
class store_core : public detail::process_bound, public std::enable_shared_from_this<store_core> {
 public:
  store_core(asio::any_io_executor executor, backend ports, lease_counters::callback on_event = {});
  ~store_core();

  asio::any_io_executor const& executor() const { return executor_; }
  store_traits const& traits() const { return traits_; }
  std::string const& display_name() const { return display_name_; }
  /// The findings of the store; not what its caches say.
  store_warnings const& told() const { return *warnings_; }
  bool keeps_values() const { return keeps_values_; }
  bool pushes_changes() const { return pushes_changes_; }

  /// The ports; null after close().
  std::shared_ptr<lease_store> const& leases() const { return ports_.leases; }
  std::shared_ptr<cache_store> const& values() const { return ports_.values; }
  /// Null, too, where the store cannot push changes.
  std::shared_ptr<tracking_store> const& tracking() const { return ports_.tracking; }
  std::shared_ptr<report_store> const& reports() const { return ports_.reports; }
  std::shared_ptr<rules_store> const& rules() const { return ports_.rules; }
  timer_queue& timers() { return *timers_; }
  lease_roll& roll() { return *roll_; }
  lease_counters& counters() { return counters_; }
  cache_ledger& caches() { return caches_; }
  store_metrics metrics() const;
  failure closed_failure() const;

  /// An acquisition whose outcome is unknown, or a grant that nobody waits for any more: releases
  /// it in the background, again and again until the store has answered or its ttl is over (B7);
  /// where the request may be late, "not held" is no answer for late_arrival.
  void clean_up(acquire_request what, arrival request);

  /// Calls on_closing() when the store is closed, unless it is unlinked before.
  void tell_when_closing(closing_listener& listener) { listeners_.push_back(listener); }

  /// Brackets a release that closing waits for.
  void give_back_begun() { ++closing_.giving_back; }
  void give_back_ended();

  /// Ends what waits, and the campaigns, whose work gets close_limit to stop; then the leases that
  /// are still held. Waits for those that are being given back, at most close_limit (and not at all
  /// where nothing was ever sent to a server), drops the ports (everything pending completes with
  /// errc::canceled) and calls `closed`. Called again, it waits for the same.
  void close(std::function<void()> closed);
  /// Since close() was called: nothing new is asked for.
  bool closing() const { return closing_.begun; }
  /// Brackets a campaign that resigns because the store closes.
  void campaign_ends() { ++closing_.campaigns; }
  void campaign_ended();

 private:
  void end_leases();
  void shut_down();
  void close_within_limit(void (store_core::*next)());

  asio::any_io_executor executor_;
  backend ports_;
  store_traits traits_;
  std::string display_name_;
  bool keeps_values_;
  bool pushes_changes_;
  std::shared_ptr<store_warnings> warnings_;
  std::shared_ptr<timer_queue> timers_;
  std::shared_ptr<lease_roll> roll_ = std::make_shared<lease_roll>(warnings_);
  lease_counters counters_;
  cache_ledger caches_;
  std::size_t clean_ups_ = 0;
  boost::intrusive::list<closing_listener, boost::intrusive::constant_time_size<false>> listeners_;
  closing_progress closing_;
};

}  // namespace herdlock::runtime
