// When the entries of a plain cache end: they do not say so themselves, and a hit is to stay one
// plain read.
// Why: docs/decisions/cache.md#ends-of-plain-entries-are-remembered
#pragma once

#include <optional>
#include <utility>

#include <herdlock/backend.hpp>

#include "algo/plain_ends.hpp"
#include "cache/keys/entries.hpp"
#include "cache/keys/home.hpp"

namespace herdlock::runtime {

/// The ends of entries in a plain cache with early refresh. All members on the executor.
class cache_plain_times {
 public:
  /// `table` outlives this.
  cache_plain_times(home_ptr home, algo::key_records& table)
      : home_(std::move(home)), known_(table) {}

  /// The age of an entry that was read. Nothing when it is not known yet: the store is asked then,
  /// once for the entry.
  std::optional<entry_age> of(cache_key const& key, clock::time_point now);
  /// This process stores an entry.
  void stored(cache_key const& key, milliseconds ttl, clock::duration load_time);
  /// The entry was not stored, or there is another by now.
  void forget(cache_key const& key) { known_.forget(key.str()); }

 private:
  void ask(cache_key const& key);

  home_ptr const home_;
  algo::plain_ends known_;
};

}  // namespace herdlock::runtime
