// Options of a cache to begin with: values that a program goes on to change.
//
//     auto options = herdlock::presets::stale_while_revalidate();
//     options.prefix = "product:";
//     options.freshness.grace = 10min;
//     herdlock::cache<product> products(store, options, load_product);
//
// An option that a preset does not name is as cache_options says.
#pragma once

#include <chrono>

#include <herdlock/cache_options.hpp>

namespace herdlock {
inline namespace v0 {

/// Each is made anew by each call, so a program changes a value of its own.
namespace presets {

/// In front of a database. Entries are plain, so other programs can read and write them, and an
/// entry that is asked for often is loaded anew before it ends (early_refresh = 1): nobody waits
/// for it where the cache owns its loader. It needs values and claims in one store.
inline cache_options read_through() {
  cache_options options;
  options.early_refresh = 1;
  return options;
}

/// A value that is somewhat old is better than a wait, and than an error. Entries are framed. For
/// an hour behind its ttl (freshness.grace) an entry answers while it is loaded anew, behind the
/// answer where the cache owns its loader; it answers as well while its loads fail (fail_safe), and
/// a database that is down is asked less and less, down to once a minute for each key
/// (max_error_back_off). It needs values and claims in one store.
inline cache_options stale_while_revalidate() {
  cache_options options;
  options.format = cache_format::framed;
  options.freshness = {.grace = std::chrono::hours(1),
                       .fail_safe = true,
                       .max_error_back_off = std::chrono::minutes(1)};
  return options;
}

/// A few keys have most of the calls, and which ones is not known before. They are counted
/// (hot.keys), and a key with a thousand calls a second in one process, or ten thousand in all of
/// them, is loaded anew before its entry ends, and kept in each process where the store pushes
/// changes (Redis 7.0 or newer, Valkey). What people say of keys is obeyed, too (hot.rules). It
/// needs a store that keeps rules: Redis, Valkey, SQLite or memory.
inline cache_options hot() {
  cache_options options;
  options.hot = {.keys = hot_keys_options{}, .rules = key_rules::on};
  return options;
}

}  // namespace presets
}  // namespace v0
}  // namespace herdlock
