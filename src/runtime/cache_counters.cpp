#include "runtime/cache_counters.hpp"

#include <algorithm>

namespace herdlock::runtime {
namespace {

using count = std::uint64_t cache_stats::*;

constexpr count totals[] = {&cache_stats::hits,
                            &cache_stats::negative_hits,
                            &cache_stats::stale_hits,
                            &cache_stats::misses,
                            &cache_stats::loads_now,
                            &cache_stats::joined,
                            &cache_stats::loads,
                            &cache_stats::unguarded_loads,
                            &cache_stats::load_errors,
                            &cache_stats::shared_errors,
                            &cache_stats::refreshes,
                            &cache_stats::refused_refreshes,
                            &cache_stats::soft_timeouts,
                            &cache_stats::stale_after_error,
                            &cache_stats::superseded,
                            &cache_stats::unstorable,
                            &cache_stats::not_modified,
                            &cache_stats::undecodable,
                            &cache_stats::ended_by_tags,
                            &cache_stats::store_errors,
                            &cache_stats::overloaded,
                            &cache_stats::timed_out,
                            &cache_stats::canceled,
                            &cache_stats::events_dropped,
                            &cache_stats::near_hits,
                            &cache_stats::near_inserts,
                            &cache_stats::near_refused,
                            &cache_stats::near_evicted,
                            &cache_stats::near_invalidations,
                            &cache_stats::near_ended_by_tags,
                            &cache_stats::near_unchanged,
                            &cache_stats::near_fences,
                            &cache_stats::near_server_evictions,
                            &cache_stats::became_hot,
                            &cache_stats::cooled,
                            &cache_stats::fleet_reports,
                            &cache_stats::fleet_report_errors,
                            &cache_stats::fleet_reports_refused};
// The counts of now: a cache that has gone adds nothing.
constexpr count present[] = {&cache_stats::lasting_entries,    &cache_stats::lasting_bytes,
                             &cache_stats::near_entries,       &cache_stats::near_bytes,
                             &cache_stats::near_links_refused, &cache_stats::hot,
                             &cache_stats::fleet_hot};
// The same, and of several caches the greatest.
constexpr count present_ages[] = {&cache_stats::near_proof_age_ms};
static_assert((sizeof totals + sizeof present + sizeof present_ages) / sizeof(count) ==
              sizeof(cache_stats) / sizeof(std::uint64_t));

void add_totals(cache_stats& sum, duration_histogram& load_time, cache_counters const& one,
                cache_stats const& stats) {
  for (count const each : totals) sum.*each += stats.*each;
  auto const took = one.load_time.read();
  for (std::size_t i = 0; i < took.counts.size(); ++i) load_time.counts.at(i) += took.counts.at(i);
  load_time.sum_seconds += took.sum_seconds;
}

}  // namespace

cache_stats cache_counters::read() const {
  auto const of = [](std::atomic<std::uint64_t> const& one) {
    return one.load(std::memory_order_relaxed);
  };
  cache_stats read{.hits = of(hits),
                   .negative_hits = of(negative_hits),
                   .stale_hits = of(stale_hits),
                   .misses = of(misses),
                   .loads_now = of(loads_now),
                   .joined = of(joined),
                   .loads = of(loads),
                   .unguarded_loads = of(unguarded_loads),
                   .load_errors = of(load_errors),
                   .shared_errors = of(shared_errors),
                   .refreshes = of(refreshes),
                   .refused_refreshes = of(refused_refreshes),
                   .soft_timeouts = of(soft_timeouts),
                   .stale_after_error = of(stale_after_error),
                   .superseded = of(superseded),
                   .unstorable = of(unstorable),
                   .not_modified = of(not_modified),
                   .undecodable = of(undecodable),
                   .ended_by_tags = of(ended_by_tags),
                   .store_errors = of(store_errors),
                   .overloaded = of(overloaded),
                   .timed_out = of(timed_out),
                   .canceled = of(canceled),
                   .events_dropped = events ? events->dropped() : 0,
                   .lasting_entries = of(lasting_entries),
                   .lasting_bytes = of(lasting_bytes),
                   .near_refused = of(near_refused),
                   .near_fences = of(near_fences),
                   .near_server_evictions = of(near_server_evictions),
                   .near_links_refused = of(near_links_refused)};
  if (add_other_counts) add_other_counts(read);
  return read;
}

void cache_ledger::open(cache_counters const& one) {
  std::lock_guard const lock(mutex_);
  open_.push_back(&one);
}

void cache_ledger::close(cache_counters const& one) {
  std::lock_guard const lock(mutex_);
  std::erase(open_, &one);
  add_totals(gone_, gone_load_time_, one, one.read());
}

void cache_ledger::read(store_metrics& into) const {
  std::lock_guard const lock(mutex_);
  into.caches = gone_;
  into.load_time = gone_load_time_;
  for (auto const* one : open_) {
    auto const stats = one->read();
    add_totals(into.caches, into.load_time, *one, stats);
    for (count const each : present) into.caches.*each += stats.*each;
    for (count const each : present_ages) {
      into.caches.*each = std::max(into.caches.*each, stats.*each);
    }
  }
}

std::vector<std::string> cache_ledger::warnings() const {
  std::lock_guard const lock(mutex_);
  std::vector<std::string> all;
  for (auto const* one : open_) {
    for (auto& text : one->warnings.list()) all.push_back(std::move(text));
  }
  return all;
}

}  // namespace herdlock::runtime
