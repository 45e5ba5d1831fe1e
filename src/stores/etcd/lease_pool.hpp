// Leases of etcd whose keys are gone: used again, or ended later.
// Why: docs/stores/etcd.md#keys-and-pooled-leases
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "stores/etcd/connection_pool.hpp"

namespace herdlock::etcd {

/// To make and to end a lease are writes, each a turn of the server's disk; to keep one alive is
/// not. A lease without a key is in nobody's way, and what is neither used again nor ended (too
/// many, no server) ends by itself, at its ttl. All members are called on the executor.
class lease_pool : public std::enable_shared_from_this<lease_pool> {
 public:
  explicit lease_pool(std::shared_ptr<connection_pool> connections)
      : connections_(std::move(connections)) {}

  struct idle_lease {
    std::int64_t lease;
    std::int64_t seconds;
    clock::time_point alive_until;
  };

  /// One that was granted for so many seconds, and lives as long as that unless somebody ended it.
  std::optional<idle_lease> take(std::int64_t seconds);
  /// Somebody ends leases: ends those that nobody uses.
  void distrust();
  /// Nothing names it any more, nothing that is on its way to the server either.
  void keep(std::int64_t lease, std::int64_t seconds, clock::time_point alive_until);
  /// With all that may still be made with it. Soon: several at once share a write.
  void end(std::int64_t lease);
  /// Ends the rest now.
  void close();

 private:
  asio::awaitable<void> run();
  asio::awaitable<void> work(std::shared_ptr<timer> all_done);

  std::shared_ptr<connection_pool> connections_;
  std::vector<idle_lease> idle_;
  std::deque<std::int64_t> over_;
  std::shared_ptr<timer> pause_;
  std::size_t workers_ = 0;
  bool running_ = false;
  bool closed_ = false;
};

/// A number that nobody else gives to a lease.
std::int64_t new_lease_id();

}  // namespace herdlock::etcd
