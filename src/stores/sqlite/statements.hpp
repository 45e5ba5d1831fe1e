// What the ports' operations do on a connection. Each is one step for everyone else: one statement,
// or one transaction in which nothing that was read can be outdated when it is written. They throw
// sql_error.
#pragma once

#include <herdlock/backend.hpp>
#include <herdlock/report_store.hpp>
#include <herdlock/rules_store.hpp>

#include "algo/told_listeners.hpp"
#include "stores/sqlite/connection.hpp"

namespace herdlock::sqlite {

/// A new fencing token, inside the transaction that grants it.
fencing_token next_fencing(connection& db);

/// Microseconds of the store's clock as what remains, rounded up.
inline milliseconds remaining(std::int64_t us) {
  return std::chrono::ceil<milliseconds>(std::chrono::microseconds(us < 0 ? 0 : us));
}
inline std::int64_t in_us(milliseconds span) { return std::chrono::microseconds(span).count(); }

acquire_reply acquire(connection& db, acquire_request const& request);
renew_reply renew(connection& db, resource const& name, owner_token const& owner, milliseconds ttl);
release_reply release(connection& db, resource const& name, owner_token const& owner);
release_reply leave(connection& db, leave_request const& request);
release_reply force_release(connection& db, resource const& name);
std::optional<lease_info> inspect(connection& db, resource const& name);
/// By name; the cursor is the last one that was looked at.
lease_page list(connection& db, list_request const& request);

result<cache_lookup> get(connection& db, cache_key const& key, layout form);
result<claim_reply> claim(connection& db, claim_request const& request);
renew_reply extend(connection& db, cache_key const& key, owner_token const& owner,
                   milliseconds ttl);
fill_reply fill(connection& db, fill_request const& request);

struct fail_request {
  cache_key key;
  owner_token owner;
  std::string error;
  milliseconds back_off;
};
fill_reply fail(connection& db, fail_request const& request);
void put(connection& db, put_request const& request);
bool invalidate(connection& db, cache_key const& key);
bool expire(connection& db, cache_key const& key, milliseconds keep);
std::optional<milliseconds> time_left(connection& db, cache_key const& key);

// What caches tell each other. The tables are made by the first who tells something: who does not
// needs no room for them in his file.

/// A report is one row for each topic and process; old ones are removed.
void report(connection& db, store_report const& what);
/// Behind this one, the oldest first, and not older than report_store::keeps_for.
algo::told_rows reports_behind(connection& db, std::int64_t from);

store_rules read_rules(connection& db, std::string const& topic);
std::uint64_t write_rules(connection& db, rules_change const& what);
algo::told_rows rules_behind(connection& db, std::int64_t from);

bool prolong(connection& db, prolong_request const& request);

/// By which leases and entries end.
std::chrono::microseconds now(connection& db);

/// Deletes some of what has expired: more rows per call than the calls that made them since, so
/// that abandoned rows never pile up. Leases are gone through by name; where the next sweep goes
/// on, whichever process's it is, is in the file.
inline constexpr int commands_per_sweep = 64;
void sweep_leases(connection& db);
void sweep_entries(connection& db);

}  // namespace herdlock::sqlite
