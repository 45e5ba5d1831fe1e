// The counters of one store, and who is told of what they count.
#pragma once

#include <atomic>
#include <functional>

#include "runtime/duration_counts.hpp"

namespace herdlock::runtime {

/// Written on the store's executor alone, read from any thread.
class lease_counters {
 public:
  using callback = std::function<void(lease_event const&)>;

  explicit lease_counters(callback on_event = {}) : on_event_(std::move(on_event)) {}

  void began_to_ask() { add(waiting_); }
  void ended_asking() { take(waiting_); }
  void renewed() { add(renewed_); }
  /// A grant; from `another`: another's end was waited for.
  enum class from { free, another };
  void granted(lease_event const& what, from whom, clock::duration waited);
  /// Everything else that has a number.
  void count(lease_event const& what);
  /// The end of a lease that was granted: lost or released.
  void ended(lease_event const& what, clock::duration held);

  store_metrics read(std::string const& store) const;

 private:
  using number = std::atomic<std::uint64_t>;

  // One thread at a time writes: no locked instruction is needed.
  static void add(number& n) { n.store(value(n) + 1, std::memory_order_relaxed); }
  static void take(number& n) { n.store(value(n) - 1, std::memory_order_relaxed); }
  static std::uint64_t value(number const& n) { return n.load(std::memory_order_relaxed); }
  void tell(lease_event const& what) const {
    if (on_event_) on_event_(what);
  }
  number& of(lease_event_kind kind);

  callback const on_event_;
  number acquired_{0}, acquired_from_another_{0}, busy_{0}, failed_{0}, canceled_{0};
  number renewed_{0}, renew_failed_{0}, lost_{0}, released_{0};
  number held_{0}, waiting_{0};
  duration_counts wait_time_;
  duration_counts hold_time_;
};

}  // namespace herdlock::runtime
