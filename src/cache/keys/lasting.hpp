// The lasting entries of one cache: how many there may be, and when they are loaded anew.
// Why: docs/decisions/cache.md#lasting-is-a-year-and-a-schedule
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/lasting_ledger.hpp"
#include "cache/keys/home.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// A store of a lasting entry that is under way, or why it is not to begin.
struct lasting_admission {
  failure why;
  std::optional<algo::lasting_ledger::ticket> ticket = std::nullopt;  // none: it does not count
};

enum class store_end { stored, refused };

/// All members on the executor.
class cache_lasting {
 public:
  /// Calls for the key as a caller does, whose answer nobody waits for.
  using caller_of = std::function<void(cache_key const&)>;

  /// `table` outlives this.
  cache_lasting(home_ptr home, algo::key_records& table);

  void call_by(caller_of call) { call_ = std::move(call); }
  /// Nothing is called for any more.
  void close();
  /// A value is to be stored, and counts from now on unless its store is refused.
  lasting_admission admit(cache_key const& key, cache_value const& value);
  /// The same for a loaded value; with a `refresh_below` above 0 it takes the place of an entry. An
  /// entry of another process, perhaps one that is gone, counts here, too, and is scheduled, if
  /// there is room for it. If there is none it is stored all the same.
  lasting_admission admit_loaded(cache_key const& key, cache_value const& value,
                                 milliseconds refresh_below);
  void store_ended(cache_key const& key, lasting_admission const& mine, store_end how);
  /// The entry is gone, by invalidate.
  void gone(cache_key const& key);
  /// The entry was not found in the store.
  void missed(cache_key const& key);

  /// The key was loaded and is being stored: the cache's own loader loads it again each
  /// refresh_every.
  void schedule_refresh(cache_key const& key);
  /// The entry that was stored or found becomes stale then, which is when its refresh is due.
  void fresh_until(cache_key const& key, clock::time_point expires);

 private:
  struct schedule;

  void refresh(schedule& due, clock::time_point now);
  void note_sizes();

  home_ptr const home_;
  caller_of call_;
  algo::key_records& table_;
  algo::lasting_ledger ledger_;
};

}  // namespace herdlock::runtime
