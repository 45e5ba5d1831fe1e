// The counts and warnings of caches: each for itself, and all of one store together.
// Why: docs/decisions/library.md#figures-are-counted-in-place
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "runtime/cache_events.hpp"
#include "runtime/duration_counts.hpp"

namespace herdlock::runtime {

class store_collector;  // cache/fleet/collector.hpp

/// Counters, and warnings, written on the executor and read from any thread.
struct cache_counters {
  std::atomic<std::uint64_t> hits{0}, negative_hits{0}, stale_hits{0}, misses{0}, loads_now{0},
      joined{0}, loads{0}, unguarded_loads{0}, load_errors{0}, shared_errors{0}, refreshes{0},
      refused_refreshes{0}, soft_timeouts{0}, stale_after_error{0}, superseded{0}, unstorable{0},
      not_modified{0}, undecodable{0}, ended_by_tags{0}, store_errors{0}, overloaded{0},
      timed_out{0}, canceled{0}, lasting_entries{0}, lasting_bytes{0}, near_refused{0},
      near_fences{0}, near_server_evictions{0}, near_links_refused{0};
  std::shared_ptr<cache_events> events{};  ///< null without an observer; set before anybody reads
  duration_counts load_time;
  store_warnings warnings;
  /// Adds what the near cache and the hot keys count; none without them. Set before anybody reads.
  std::function<void(cache_stats&)> add_other_counts{};

  static void add(std::atomic<std::uint64_t>& one) { one.fetch_add(1, std::memory_order_relaxed); }
  void count_hits(detail::entry_kind kind, std::size_t callers) {
    auto& count = kind == detail::entry_kind::value ? hits : negative_hits;
    count.fetch_add(callers, std::memory_order_relaxed);
  }
  void tell(cache_outcome what, cache_key const& key, load_told const& load = {}) const noexcept {
    if (events) events->tell(what, key.str(), load);
  }
  /// Tells of this outcome for keys without the prefix, on any thread; null without an observer.
  std::function<void(std::string_view own_key)> teller_of(cache_outcome what) const {
    if (!events) return nullptr;
    return [what, to = events](std::string_view own_key) { to->tell_own(what, own_key); };
  }
  cache_stats read() const;
};

/// The sum over the caches of one store, those that have gone included, so that it never falls. A
/// cache counts for itself alone; the sum is made when somebody asks. Any thread.
class cache_ledger {
 public:
  /// `one` stays until it is closed.
  void open(cache_counters const& one);
  void close(cache_counters const& one);
  void read(store_metrics& into) const;
  /// Those of the caches that are there.
  std::vector<std::string> warnings() const;
  /// The one of the store, which the caches that need it keep. On the executor.
  std::weak_ptr<store_collector>& collector() { return collector_; }

 private:
  std::weak_ptr<store_collector> collector_;
  mutable std::mutex mutex_;
  std::vector<cache_counters const*> open_;
  cache_stats gone_;
  duration_histogram gone_load_time_;
};

}  // namespace herdlock::runtime
