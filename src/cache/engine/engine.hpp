// The state of one cache: its callers, its flights, its bounds. cache<T> is a template over it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <herdlock/detail/cache_core.hpp>

#include "algo/flight_table.hpp"
#include "algo/load_gate.hpp"
#include "algo/load_machine.hpp"
#include "cache/engine/arrivals.hpp"
#include "cache/engine/callers.hpp"
#include "cache/engine/flight.hpp"
#include "cache/engine/posting_gate.hpp"
#include "cache/engine/shared_looks.hpp"
#include "cache/engine/trouble.hpp"
#include "cache/fleet/hot.hpp"
#include "cache/keys/freshness.hpp"
#include "cache/keys/lasting.hpp"
#include "cache/keys/plain_times.hpp"
#include "cache/keys/unstored_answers.hpp"
#include "cache/near/near.hpp"
#include "runtime/cache_counters.hpp"
#include "runtime/store_core.hpp"

namespace herdlock::runtime {

class cache_over_locks;

struct engine_settings {
  cache_options options;
  layout form;
  detail::cache_decode decode;
  near_cache near;                               ///< what near_options::mode has come to
  std::shared_ptr<detail::owned_load> owned;     ///< null where the cache has no loader of its own
  std::weak_ptr<loader_pool> pool;               ///< the threads that run its loader
  std::weak_ptr<detail::store_context> context;  ///< of the values
};

inline void count_miss(detail::cache_caller& caller, cache_counters& counters) {
  if (!std::exchange(caller.missed, true)) cache_counters::add(counters.misses);
}

/// The slots in which loads may run.
class load_slots {
 public:
  using queue = algo::slot_queue<std::shared_ptr<load_flight>>;

  explicit load_slots(cache_options const& options)
      : guarded_(options.bounds.max_loads), unguarded_(options.bounds.max_loads_without_store) {}

  queue& of(algo::load_guard guard) {
    return guard == algo::load_guard::guarded ? guarded_ : unguarded_;
  }
  void free(algo::load_guard guard) {
    while (!closed_) {  // then whoever queues is being closed, too
      auto const next = of(guard).give_back();
      if (!next || (*next)->slot_granted()) return;
    }
  }
  void close() { closed_ = true; }

 private:
  queue guarded_, unguarded_;
  bool closed_ = false;
};

/// The parts that know of keys in this process alone.
struct local_parts {
  std::shared_ptr<cache_hot> hot;      // null when no key is counted
  std::shared_ptr<cache_rules> rules;  // null when none is obeyed
  std::shared_ptr<cache_near> near;    // null when nothing is kept
};

/// The key of a cache without the prefix.
inline std::string_view without_prefix(cache_key const& key, cache_options const& options) {
  return std::string_view(key.str()).substr(options.prefix.size());
}

/// Whether entries have times of their own.
inline bool is_framed(cache_options const& options) {
  return options.format == cache_format::framed;
}

/// All members on the executor but submit(), stats() and last_store_error().
class cache_engine final : public closing_listener,
                           public std::enable_shared_from_this<cache_engine> {
 public:
  /// `locks` is null when the claims are in the value store.
  cache_engine(std::shared_ptr<store_core> values, std::shared_ptr<store_core> locks,
               engine_settings settings);
  ~cache_engine() override;

  // Any thread.
  void submit(std::span<detail::caller_ptr> callers);
  /// Null when the claims are in the value store.
  std::shared_ptr<cache_over_locks> const& over_locks() const { return over_locks_; }
  cache_stats stats() const { return counters.read(); }
  failure last_store_error() const { return trouble_.latest(); }
  /// The pool that runs the cache's own loader, and the way back for any load.
  detail::home_of_loads home_of_loads() const { return {settings_.pool, back_}; }

  // From the handles, posted.
  void put(put_request request, handler<void> done);
  void invalidate(cache_key key, handler<bool> done);
  /// REQUIRES: framed entries.
  void expire_entry(cache_key key, handler<bool> done);
  /// Calls that come from now on join no load that has begun, and get nothing that such a load came
  /// to and the store does not have. It goes on for those who wait for it, and is stored unless the
  /// store has voided its claim; then it answers others, too.
  void fence();
  /// Answers everyone with errc::canceled and gives the claims up.
  void on_closing() override;

  // For the flights.
  cache_store* claims() const;
  store_core& home() const { return *values_; }
  cache_options const& options() const { return settings_.options; }
  layout form() const { return settings_.form; }
  /// Null when an entry is there or not, and nothing is done before it ends.
  cache_freshness* freshness() const { return freshness_.get(); }
  /// Null when entries have times of their own, or need none.
  cache_plain_times* plain_times() const { return plain_times_.get(); }
  /// The parts of this process. Of the near cache, `find` and pins are for any thread.
  local_parts const& local() const { return local_; }
  /// Null when entries end by themselves.
  cache_lasting* lasting() const { return lasting_.get(); }
  load_slots& slots() { return slots_; }
  using flights_type = algo::flight_table<detail::caller_ptr, std::shared_ptr<load_flight>>;
  flights_type& flights() { return flights_; }
  bool is_loading(cache_key const& key) const { return live_.contains(key.str()); }
  /// Null when the cache has no loader of its own.
  detail::owned_load* owned() const { return settings_.owned.get(); }
  cache_callers& callers() { return callers_; }
  /// The flight has no claim any more, and will not store anything.
  void unlist(load_flight& flight);
  /// The flight is over, and has loaded nothing: each caller in it has an answer at hand. If that
  /// has ended meanwhile, the call goes on as at a miss.
  void forget(algo::flight_id id);
  /// `loaded`: the caller that shares the answer, and is not in the flight any more; or null.
  void answer(algo::flight_id id, result<detail::cache_answer> const& answer,
              detail::caller_ptr const& loaded);
  /// Finishes with the old value, if the answer is an error and the caller has one at hand.
  void finish_with_best(detail::cache_caller& caller, result<detail::cache_answer> answer);
  /// The callers go on as calls that have just come.
  void look_again(algo::flight_id id);
  void look_again(detail::caller_ptr caller);
  /// Nothing when the entry cannot be decoded.
  std::optional<found_entry> read(cache_value stored);
  cache_trouble& trouble() { return trouble_; }
  unstored_answers& unstored() { return unstored_; }
  void give_up_claim(cache_key key, owner_token owner);
  milliseconds ttl_of(cache_value const& value) const;

  cache_counters counters;

 private:
  using look_group = shared_looks::group;

  void drain();
  void turn_away(detail::cache_caller& caller);
  void accept(detail::caller_ptr caller, clock::time_point now);
  void send_look(look_group group);
  void on_look(look_group const& group, result<near_read> got);
  void on_aged_entry(detail::caller_ptr const& caller, found_entry const& entry,
                     clock::time_point now);
  void do_without_store(detail::caller_ptr const& caller, failure const& why);
  void probe(cache_key const& key);
  void launch(detail::caller_ptr caller, algo::load_guard guard, load_purpose purpose = {});
  void refresh(detail::caller_ptr const& caller, load_purpose purpose);
  void look_for(detail::caller_ptr caller, clock::time_point now);
  template <class Reply, class Send>
  void write(cache_key const& key, voiding how, handler<Reply> done, Send&& send);
  void void_loads(cache_key const& key, voiding how);

  std::shared_ptr<store_core> values_;
  std::shared_ptr<cache_over_locks> over_locks_;  // null when the claims are in the value store
  engine_settings settings_;
  std::shared_ptr<posting_gate> back_;

  cache_arrivals arrivals_;
  shared_looks looks_;  // the looks of this turn, not sent yet
  flights_type flights_;
  // Flights that may still store something, by their own keys; detached and answered ones, too.
  std::unordered_multimap<std::string_view, load_flight*> live_;
  load_slots slots_;
  cache_trouble trouble_;
  unstored_answers unstored_{*values_, settings_.options};
  std::unique_ptr<cache_freshness> freshness_;  // see freshness()
  std::unique_ptr<cache_plain_times> plain_times_;
  std::unique_ptr<cache_lasting> lasting_;  // null when entries end by themselves
  local_parts local_;
  bool closed_ = false;
  cache_callers callers_{*this};  // goes first: those above may have the last hold of a caller
};

algo::load_settings load_settings_of(cache_engine const& home, load_purpose const& purpose);

}  // namespace herdlock::runtime
