// The trouble that the stores of a cache are in, as far as it knows (S9, S15).
// Why: docs/decisions/cache.md#a-failed-write-leaves-reads-open
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

#include <herdlock/error.hpp>

#include "algo/load_gate.hpp"
#include "algo/store_trouble.hpp"
#include "runtime/cache_counters.hpp"

namespace herdlock::runtime {

/// Whether the store could not do its work, as opposed to an answer that is not a value.
inline bool is_store_trouble(failure const& why) {
  return algo::scope_of(algo::store_step::read, why) != algo::trouble_scope::none;
}
/// Whether what was asked of one key is refused, and the store is not in trouble itself.
inline bool is_of_one_key(failure const& why) {
  return algo::scope_of(algo::store_step::read, why) == algo::trouble_scope::key;
}

enum class claims_in { value_store, lock_store };

/// A cache as messages name it: `STORE: the cache with the prefix 'p:'`.
std::string cache_in_words(std::string const& store, std::string const& prefix);

/// Whether reads and claims are worth asking for, and the latest failure. All members on the
/// executor but tell() and latest().
class cache_trouble {
 public:
  /// `who`: the cache as warnings name it.
  cache_trouble(cache_counters& counters, claims_in where, std::string who)
      : counters_(counters), where_(where), who_(std::move(who)) {}

  algo::store_use next_read(clock::time_point now) { return reads_.next(now); }
  algo::store_use next_claim(clock::time_point now) { return claims_.next(now); }

  /// A step failed. The store is left alone for a while by the requests that would meet the same;
  /// one that is refused by its rights or makes no sense is warned of, once for each kind of step.
  algo::trouble_scope failed(algo::store_step step, failure const& why);
  bool reads_fail() const { return reads_.failing(); }
  void read_worked() { reads_.succeeded(); }
  void claims_worked();
  /// The value store has carried out a write. So it answers: it is read again at once, and the next
  /// load finds out whether claims work.
  void write_worked();
  /// The read that was to find out whether reads work again did not get to the store.
  void read_probe_over() { reads_.probe_over(); }
  /// The flight that was to find out whether claims work again ended without having claimed.
  void claim_probe_over() { claims_.probe_over(); }

  /// As the latest failure, uncounted.
  void tell(failure const& why);
  failure latest() const;

 private:
  void warn(algo::store_step step, failure const& why);

  cache_counters& counters_;
  claims_in where_;
  std::string who_;
  algo::store_health reads_;
  algo::store_health claims_;
  std::set<std::pair<algo::store_step, int>> warned_;  // each step and code
  mutable std::mutex mutex_;
  failure latest_;  // mutex_
};

}  // namespace herdlock::runtime
