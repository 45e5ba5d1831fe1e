// What all leases and caches of one opened store share: the ports, the executor, the one timer,
// and the leases that are still being given back.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>

#include <herdlock/store.hpp>

#include "runtime/lease_keeper.hpp"

namespace herdlock::runtime {

/// How many leases with an unknown outcome may be cleaned up at once; more end by their ttl.
inline constexpr std::size_t max_clean_ups = 10'000;
/// How long closing waits for leases that are being given back.
inline constexpr milliseconds close_grace{1000};

/// All members on the executor, except executor(), traits() and display_name().
class store_core : public std::enable_shared_from_this<store_core> {
 public:
  store_core(asio::any_io_executor executor, backend ports);
  ~store_core();

  asio::any_io_executor const& executor() const { return executor_; }
  store_traits const& traits() const { return traits_; }
  std::string const& display_name() const { return display_name_; }

  /// The ports; null after close().
  std::shared_ptr<lease_store> const& leases() const { return ports_.leases; }
  std::shared_ptr<cache_store> const& values() const { return ports_.values; }
  lease_keeper& keeper() { return *keeper_; }
  failure closed_failure() const;

  /// An acquisition whose outcome is unknown, or a grant that nobody waits for any more: releases
  /// it in the background, again and again until its ttl is over anyway (B7).
  void clean_up(resource name, owner_token owner, milliseconds ttl);

  /// Brackets a release that closing waits for.
  void give_back_begun() { ++giving_back_; }
  void give_back_ended();

  /// Waits for the leases that are being given back, at most close_grace, then drops the ports
  /// (everything pending completes with errc::canceled) and calls `closed`.
  void close(std::function<void()> closed);

 private:
  void shut_down();

  asio::any_io_executor executor_;
  backend ports_;
  store_traits traits_;
  std::string display_name_;
  std::shared_ptr<lease_keeper> keeper_;
  asio::steady_timer close_timer_;
  std::size_t giving_back_ = 0;
  std::size_t clean_ups_ = 0;
  std::function<void()> on_closed_;
};

}  // namespace herdlock::runtime
