// What the handles on one memory store share: the tables, the lock around them, the time.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "stores/memory/cache_table.hpp"
#include "stores/memory/exchange_table.hpp"
#include "stores/memory/lease_table.hpp"

namespace herdlock::memory {

/// Safe from any thread. Nothing that is not live is ever seen: `visit` first runs what is due.
class store_state : public std::enable_shared_from_this<store_state> {
 public:
  explicit store_state(bounds limits)
      : used_(limits), leases_(due_, used_), values_(due_, used_), exchange_(due_, used_) {}

  /// The space of this name in this process, made if there is none; it lives as long as a handle
  /// on it. The empty name makes a space of its own each time.
  static std::shared_ptr<store_state> named(std::string const& name, bounds limits);
  /// Null when there is none.
  static std::shared_ptr<store_state> find(std::string const& name);

  void join(std::shared_ptr<endpoint> home);
  /// Completes what still waits for this handle with errc::canceled.
  void leave(endpoint const& home, failure const& why);

  /// Calls `work(leases, values, now)` alone, and sees to the timers afterwards.
  template <class Work>
  auto visit(Work work) {
    return alone([&](clock::time_point now) { return work(leases_, values_, now); });
  }
  /// The same with what caches tell each other.
  template <class Work>
  auto visit_exchange(Work work) {
    return alone([&](clock::time_point now) { return work(exchange_, now); });
  }

  /// Ends the wait with this id with `why`, if it has not ended.
  void cancel(std::uint64_t id, failure const& why);

  std::uint64_t next_id() { return ++last_id_; }  ///< only inside visit()

 private:
  template <class Work>
  auto alone(Work work) {
    std::lock_guard lock(mutex_);
    clock::time_point now = clock::now();
    due_.run(now);
    auto outcome = work(now);
    set_timers();
    return outcome;
  }
  void set_timers();
  void arm(std::shared_ptr<endpoint> const& home);
  void on_timer(endpoint& home);

  std::mutex mutex_;
  deadlines due_;
  usage used_;
  lease_table leases_;
  cache_table values_;
  exchange_table exchange_;
  std::vector<std::shared_ptr<endpoint>> homes_;
  std::uint64_t last_id_ = 0;
};

}  // namespace herdlock::memory
