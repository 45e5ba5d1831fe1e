// Ends leases that were not renewed, on a thread of its own.
// Why: docs/stores/zookeeper.md#the-ttl-ends-on-a-thread-of-its-own
#pragma once

#include <condition_variable>
#include <functional>
#include <herdlock/types.hpp>
#include <list>
#include <map>
#include <mutex>
#include <string>

#include "algo/deadline_queue.hpp"
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
  struct entry final : algo::timed<clock> {
    explicit entry(expiry_guard::node of) : what(std::move(of)) {}
    void on_due(clock::time_point) override {}  // taken from the queue instead

    expiry_guard::node const what;
    void const* who = nullptr;  ///< null: to be removed again
  };

  void run();
  node take_next();
  void schedule(entry& one, clock::time_point when);

  std::function<void(node const&)> const remove_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<void const*, entry> entries_;
  std::list<entry> again_;
  algo::deadline_queue<clock> due_;
  bool closing_ = false;
  stores::worker_threads thread_{"herdlock-zk-ttl", 1};
};

}  // namespace herdlock::zookeeper
