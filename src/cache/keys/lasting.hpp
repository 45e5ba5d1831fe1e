// The lasting entries of one cache: how many there may be, and when they are loaded anew.
// Why: docs/decisions/cache.md#lasting-is-a-year-and-a-schedule
#pragma once

#include <map>
#include <string>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/lasting_ledger.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

class cache_engine;

/// A store of a lasting entry that is under way, or why it is not to begin.
struct lasting_admission {
  failure why;
  std::optional<algo::lasting_ledger::ticket> ticket = std::nullopt;  // none: it does not count
};

enum class store_end { stored, refused };

/// All members on the executor.
class cache_lasting {
 public:
  explicit cache_lasting(cache_engine& home);

  /// Expresses lasting entries by the options of all others: an entry is kept for as long as a
  /// store keeps anything, and is stale when its refresh is due.
  static void apply_to(cache_options& options);

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
  void close();

 private:
  struct schedule final : timed {
    schedule(cache_lasting& owner, cache_key its) : home(owner), key(std::move(its)) {}
    ~schedule() override { timer_queue::remove(*this); }
    void on_due(clock::time_point now) override { home.refresh(*this, now); }
    cache_lasting& home;
    cache_key key;
  };

  void refresh(schedule& due, clock::time_point now);
  void note_sizes();

  cache_engine& home_;
  algo::lasting_ledger ledger_;
  std::map<std::string, schedule, std::less<>> schedules_;
};

}  // namespace herdlock::runtime
