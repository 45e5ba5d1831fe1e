// Ends leases that were not renewed, on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <herdlock/types.hpp>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "stores/common/worker_threads.hpp"

namespace herdlock::zookeeper {

/// What others may rely on is that the holder's process removes the node at the end of the ttl. The
/// store's executor may be busy, or not run at all, while the C client goes on pinging and so keeps
/// the session alive: the removal must not depend on it. From any thread.
class expiry_guard {
 public:
  struct node {
    std::string path;
    std::uint64_t session;
  };

  /// `remove` is called on the guard's thread; it throws nothing and does not wait. When it learns
  /// that the node may still be there, it calls remove_again.
  explicit expiry_guard(std::function<void(node const&)> remove);
  /// Waits for a removal that is being sent.
  ~expiry_guard();
  expiry_guard(expiry_guard const&) = delete;
  expiry_guard& operator=(expiry_guard const&) = delete;

  /// `who` is any address that stands for the lease.
  void watch_over(void const* who, node what, clock::time_point end);
  /// False when the end has come: the node is gone, or going.
  bool prolong(void const* who, clock::time_point end);
  void forget(void const* who);
  /// After a moment, and whoever has forgotten it.
  void remove_again(node what);

 private:
  struct entry {
    node what;
    clock::time_point end;
  };
  void run();
  std::optional<clock::time_point> next() const;
  node take_next();
  void file(void const* who, clock::time_point end);
  void unfile(void const* who, clock::time_point end);

  std::function<void(node const&)> const remove_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<void const*, entry> entries_;
  std::multimap<clock::time_point, void const*> by_end_;
  std::deque<entry> again_;  ///< in the order of their times
  bool closing_ = false;
  stores::worker_threads thread_{1};
};

}  // namespace herdlock::zookeeper
