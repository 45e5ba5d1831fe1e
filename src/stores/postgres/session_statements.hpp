// The statements of the modes whose locks belong to a session.
//
// advisory: pg_advisory_lock on the first 64 bits of the name's SHA-256, as a signed number:
//   ('x' || substr(encode(sha256('NAME'::bytea), 'hex'), 1, 16))::bit(64)::bigint
// A table keeps the name of each key that was used, so that two names with one key are noticed.
// row: the row of the name in a table is locked FOR UPDATE by an open transaction; those who want
// it stand in line for an advisory lock on the first 64 bits of the SHA-256 of `TABLE_rows NAME`.
//
// One statement takes the lock, draws the fencing token from a sequence and writes into the
// session's application_name who holds it, where others read it: `herdlock TOKEN TTL LABEL`,
// numbers in hex.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <herdlock/backend.hpp>

#include "stores/postgres/command_connection.hpp"
#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

/// Of the connection for commands: meet (a name for the first time; tells the number of its lock),
/// look, list, force, end.
preparation session_preparation(settings const& what);
/// Makes a session what the modes need, once the tables are there; answers its process,
/// when that began, and the server (see started_sql).
std::string session_set_up(settings const& what);
/// Of each session: try, wait, next, renew, release, and what the mode needs besides.
std::vector<std::pair<std::string, std::string>> session_statements(settings const& what);
/// What gives the lock back.
statement session_release(settings const& what, std::int64_t lock);

/// The arguments of `next`. `try` and `wait` have the name behind them in row mode; `wait` has one
/// more, for how long.
std::vector<parameter> grant_parameters(std::int64_t lock, acquire_request const& request);
/// A ttl as the server's idle timeout: a little more, so that a holder that is alive ends first.
parameter idle_limit(milliseconds ttl);

/// Who holds it, by `look`; nothing when nobody does.
std::optional<lease_info> to_lease_info(rows const& found);
/// The holder is a session of a herdlock that has not said yet for whom.
bool is_being_granted(rows const& found);

}  // namespace herdlock::postgres
