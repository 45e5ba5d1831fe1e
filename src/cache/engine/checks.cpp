#include "cache/engine/checks.hpp"

#include "cache/fleet/hot_keys_core.hpp"
#include "cache/keys/tags.hpp"
#include "runtime/side_names.hpp"
#include "runtime/store_context.hpp"

namespace herdlock::runtime {
namespace {

using detail::context_of;

void check_duration(char const* what, milliseconds value) {
  if (failure const why = check_ttl(value); why.code) {
    throw error(failure{why.code, std::string("cache option ") + what + ": " + why.message});
  }
}

void check_that(bool holds, std::string const& what) {
  if (!holds) throw error(make_failure(errc::invalid_value, "cache option " + what));
}

void check_lasting(cache_options const& options) {
  auto const& asked = options.lasting;
  constexpr milliseconds none{0};
  constexpr milliseconds longest = std::chrono::hours{24 * 90};
  bool const lasts = options.ttl == herdlock::lasting;
  bool const scheduled = asked.refresh_every != none;
  check_that(lasts || !scheduled, "lasting.refresh_every: needs ttl = lasting");
  check_that(
      !scheduled || options.format == cache_format::framed,
      "lasting.refresh_every: needs format = cache_format::framed; a plain entry has no times of "
      "its own");
  check_that(
      !scheduled || (asked.refresh_every >= limits::min_ttl && asked.refresh_every <= longest),
      "lasting.refresh_every: use 10 ms to 90 days, or 0");
  check_that(!lasts || options.freshness.grace == none,
             "freshness.grace: a lasting entry has none, it does not end");
  check_that(!lasts || scheduled || options.early_refresh == 0,
             "early_refresh: a lasting entry is loaded anew by lasting.refresh_every only");
  check_that(!lasts || asked.max_entries > 0, "lasting.max_entries: use 1 or more");
  check_that(!lasts || asked.max_bytes > 0, "lasting.max_bytes: use 1 or more");
}

// The options that need times of an entry's own.
void check_freshness(cache_options const& options, std::optional<store> const& locks) {
  auto const& asked = options.freshness;
  constexpr milliseconds none{0};
  bool const framed = options.format == cache_format::framed;
  struct {
    char const* name;
    bool is_set;
  } const needing_times[] = {
      {"freshness.grace", asked.grace != none},
      {"freshness.fail_safe", asked.fail_safe},
      {"freshness.soft_timeout", asked.soft_timeout != none},
      {"freshness.max_error_back_off", asked.max_error_back_off != none},
  };
  for (auto const& one : needing_times) {
    check_that(framed || !one.is_set,
               std::string(one.name) +
                   ": needs format = cache_format::framed; a plain entry has "
                   "no times of its own");
  }
  check_that(!framed || !locks,
             "format: framed entries need values and claims in one store; give the cache no store "
             "for its locks, or use cache_format::plain");
  check_that(framed || !options.tags.of,
             "tags.of: needs format = cache_format::framed; a plain entry has no room for them");
  check_that(framed || !options.tags.clearable,
             "tags.clearable: needs format = cache_format::framed; a plain entry has no room for "
             "the tag");
  check_that(options.tags.max_age >= none && options.tags.max_age <= limits::max_ttl,
             "tags.max_age: use 0 to 365 days");
  check_lasting(options);
  check_that(!locks || options.early_refresh == 0,
             "early_refresh: needs values and claims in one store; give the cache no store for its "
             "locks");
  check_that(options.early_refresh >= 0 && options.early_refresh <= 10,
             "early_refresh: use 0 to 10");
  if (asked.grace != none) check_duration("freshness.grace", asked.grace);
  bool const lasts = options.ttl == herdlock::lasting;
  check_that(lasts || options.ttl <= limits::max_ttl - asked.grace,
             "freshness.grace: together with ttl at most 365 days");
  bool const keeps_stale = asked.grace != none || options.lasting.refresh_every != none;
  check_that(!asked.fail_safe || keeps_stale,
             "freshness.fail_safe: needs a freshness.grace, for which a stale entry is kept");
  check_that(asked.soft_timeout >= none, "freshness.soft_timeout: use 0 or more");
  check_that(asked.soft_timeout == none || keeps_stale,
             "freshness.soft_timeout: needs a freshness.grace, for which a stale entry is kept");
  if (asked.soft_timeout == wait_forever) {
    check_that(asked.fail_safe, "freshness.soft_timeout: wait_forever needs freshness.fail_safe");
  } else {
    check_that(asked.soft_timeout < options.wait, "freshness.soft_timeout: use less than wait");
  }
  check_that(
      asked.max_error_back_off == none || (asked.max_error_back_off >= options.error_back_off &&
                                           asked.max_error_back_off <= limits::max_ttl),
      "freshness.max_error_back_off: use error_back_off to 365 days, or 0");
}

void check_bounds(load_bounds const& asked) {
  check_that(asked.max_loads > 0, "bounds.max_loads: use 1 or more");
  check_that(asked.max_loads_without_store > 0, "bounds.max_loads_without_store: use 1 or more");
  check_that(asked.max_waiting > 0, "bounds.max_waiting: use 1 or more");
  check_that(asked.max_known_bytes >= 65'536, "bounds.max_known_bytes: use 65536 or more");
}

void check_options(cache_options const& options) {
  if (options.ttl != herdlock::lasting) check_duration("ttl", options.ttl);
  check_duration("claim_ttl", options.claim_ttl);
  check_duration("max_load_time", options.max_load_time);
  if (options.negative_ttl != milliseconds{0}) check_duration("negative_ttl", options.negative_ttl);
  check_that(options.ttl_jitter >= 0 && options.ttl_jitter < 1, "ttl_jitter: use 0 to less than 1");
  check_that(options.wait > milliseconds{0}, "wait: use 1 ms or more");
  check_that(options.error_back_off >= milliseconds{0} && options.error_back_off <= limits::max_ttl,
             "error_back_off: use 0 to 365 days");
  check_bounds(options.bounds);
  check_that(options.observer.max_waiting > 0, "observer.max_waiting: use 1 or more");
}

void check_prefix(cache_options const& options, store const& values) {
  auto const refuse = [](failure const& why) {
    throw error(failure{why.code, "cache option prefix: " + why.message});
  };
  bool const one_keyspace = context_of(values)->core()->traits().one_keyspace;
  if (options.prefix.empty() && one_keyspace) {
    refuse(make_failure(errc::invalid_name,
                        "locks and entries share the keys of " + values.display_name() +
                            "; name a prefix that no lock begins with ({.prefix = \"product:\"}), "
                            "or say that there are no such locks ({.prefix = no_prefix})"));
  }
  if (options.prefix.empty() || options.prefix == no_prefix) return;
  // A prefix that leaves no room for a key, or none for one that is an entry's, would make every
  // call fail.
  auto const key = cache_key::parse(options.prefix + "k");
  if (key.has_error()) refuse(key.error());
  auto const record = record_key_of_all(options.prefix);
  if (options.tags.clearable && record.has_error()) refuse(record.error());
  if (!one_keyspace) return;
  if (failure why = check_no_side_name("a key", key->str()); why.code) refuse(why);
}

// The mode that `near.mode` comes to.
near_cache check_near(cache_options const& options, store const& values,
                      std::optional<store> const& locks) {
  auto const& asked = options.near;
  constexpr milliseconds none{0};
  auto const& core = *context_of(values)->core();
  auto const by_itself = core.pushes_changes() && !locks ? near_cache::hot : near_cache::off;
  bool const names_keys = options.hot.keys || options.hot.rules == key_rules::on;
  auto const mode = asked.mode.value_or(names_keys ? by_itself : near_cache::off);
  bool const on = mode != near_cache::off;
  check_that(on || asked.max_age == none, "near.max_age: needs near.mode");
  check_that(on || asked.untracked_age == none, "near.untracked_age: needs near.mode");
  if (!on) return mode;
  check_duration("near.max_staleness", asked.max_staleness);
  if (asked.max_age != none) check_duration("near.max_age", asked.max_age);
  if (asked.untracked_age != none) check_duration("near.untracked_age", asked.untracked_age);
  check_that(asked.entries > 0, "near.entries: use 1 or more");
  check_that(asked.bytes > 0, "near.bytes: use 1 or more");
  check_that(asked.max_value_bytes > 0, "near.max_value_bytes: use 1 or more");
  check_that(!locks,
             "near.mode: needs values and claims in one store; give the cache no store for its "
             "locks, or use near_cache::off");
  if (core.pushes_changes() || !core.traits().across_processes) return mode;
  throw error(make_failure(errc::not_supported,
                           "cache option near.mode: store " + values.display_name() +
                               " pushes no changes, so kept values would grow old unseen; use a "
                               "Redis store, or near_cache::off"));
}

void check_rules(cache_options const& options, store const& values) {
  if (options.hot.rules == key_rules::off || context_of(values)->core()->rules()) return;
  throw error(make_failure(errc::not_supported,
                           "cache option hot.rules: store " + values.display_name() +
                               " keeps no rules; use a Redis, a Valkey, sqlite: or memory:, or "
                               "key_rules::off"));
}

// A store of leases alone (Redlock, a plain dialect) can lock for a cache, but not be one.
void check_keeps_values(store const& values) {
  if (context_of(values)->core()->keeps_values()) return;
  throw error(make_failure(errc::not_supported,
                           "store " + values.display_name() +
                               " keeps leases only; give the cache another store for its values"));
}

}  // namespace

failure check_call_options(cache_options const& options, call_options const& how) {
  auto const refuse = [](char const* what) {
    return make_failure(errc::invalid_value, std::string("call option ") + what);
  };
  constexpr milliseconds none{0};
  auto const& fresh = options.freshness;
  auto const wait = how.wait.value_or(options.wait);
  auto const soft = how.soft_timeout.value_or(fresh.soft_timeout);
  if (wait <= none) return refuse("wait: use 1 ms or more");
  if (soft < none) return refuse("soft_timeout: use 0 or more");
  if (soft == none) return {};
  if (options.format != cache_format::framed) {
    return refuse(
        "soft_timeout: needs a cache with format = cache_format::framed; a plain entry has no "
        "times of its own");
  }
  if (fresh.grace == none && options.lasting.refresh_every == none) {
    return refuse(
        "soft_timeout: needs a cache with a freshness.grace, for which a stale entry is "
        "kept");
  }
  if (soft == wait_forever) {
    return fresh.fail_safe
               ? failure()
               : refuse("soft_timeout: wait_forever needs a cache with freshness.fail_safe");
  }
  if (soft < wait) return {};
  return refuse(how.soft_timeout ? "soft_timeout: use less than wait"
                                 : "wait: use more than the cache's freshness.soft_timeout, or "
                                   "give the call a soft_timeout, too");
}

near_cache check_cache(cache_options const& options, store const& values,
                       std::optional<store> const& locks) {
  check_options(options);
  check_freshness(options, locks);
  check_keeps_values(values);
  check_prefix(options, values);
  if (options.hot.keys) detail::check_hot_keys(*options.hot.keys, "cache option hot.keys.");
  check_that(options.hot.fleet_threshold == 0 ||
                 (options.hot.fleet_threshold >= 1 && options.hot.fleet_threshold <= 1e12),
             "hot.fleet_threshold: use 0, or 1 to 1e12 reads a second");
  check_rules(options, values);
  return check_near(options, values, locks);
}

}  // namespace herdlock::runtime
