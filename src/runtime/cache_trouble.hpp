// What a cache knows of the trouble that its stores are in (S9).
#pragma once

#include <mutex>

#include <herdlock/error.hpp>

#include "algo/load_gate.hpp"
#include "runtime/cache_counters.hpp"

namespace herdlock::runtime {

/// Whether the store could not do its work, as opposed to an answer that is not a value.
bool is_store_trouble(failure const& why);

enum class claims_in { value_store, lock_store };

/// Whether reads and claims are worth asking for, and the latest failure. All members on the
/// executor but tell() and latest().
class cache_trouble {
 public:
  cache_trouble(cache_counters& counters, claims_in where) : counters_(counters), where_(where) {}

  algo::store_use next_read(clock::time_point now) { return reads_.next(now); }
  algo::store_use next_claim(clock::time_point now) { return claims_.next(now); }

  void read_worked() { reads_.succeeded(); }
  /// The store is left alone for a while.
  void read_failed(failure const& why);
  /// Another step failed: claims are left alone for a while if it could not be carried out at all,
  /// reads only if the store was silent.
  void step_failed(failure const& why);
  void claims_worked();
  /// The flight that was to find out whether claims work again ended without having claimed.
  void claim_probe_over() { claims_.probe_over(); }

  /// As the latest failure, uncounted.
  void tell(failure const& why);
  failure latest() const;

 private:
  void note(failure const& why);

  cache_counters& counters_;
  claims_in where_;
  algo::store_health reads_;
  algo::store_health claims_;
  mutable std::mutex mutex_;
  failure latest_;  // mutex_
};

}  // namespace herdlock::runtime
