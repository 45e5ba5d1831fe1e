// Ends etcd leases whose keys are gone, some time later and several at once.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>

#include "stores/etcd/gateway.hpp"

namespace herdlock::etcd {

/// A lease without a key is in nobody's way, but to end it is a write of its own, for which the
/// next acquisition, or the next waiter's look, would wait at the server's disk. Writes that come
/// together share one. What is not ended (too many, no server) ends by itself, at its ttl.
/// All members are called on the executor.
class lease_sweeper : public std::enable_shared_from_this<lease_sweeper> {
 public:
  explicit lease_sweeper(std::shared_ptr<gateway> gate) : gate_(std::move(gate)) {}

  void add(std::int64_t lease);
  /// Completes when that lease is none of those that are still to be ended: its number may be
  /// granted again.
  asio::awaitable<void> done_with(std::int64_t lease);
  /// Ends the rest now.
  void close();

 private:
  asio::awaitable<void> run();
  asio::awaitable<void> work();
  asio::awaitable<bool> end(std::int64_t lease);

  std::shared_ptr<gateway> gate_;
  std::deque<std::int64_t> waiting_;
  std::set<std::int64_t> under_way_;
  std::shared_ptr<timer> pause_;
  std::shared_ptr<timer> changed_;  ///< cancelled when one is done; null: nobody asks
  std::size_t workers_ = 0;
  bool running_ = false;
  bool closed_ = false;
};

}  // namespace herdlock::etcd
