// The table mode's tables and functions.
//
// A lease is a row: name, owner, fencing token, end. A free one stays for ten minutes with its end
// in the past. Those who wait are rows of a second table, in the order of their ids; they are
// added, handed over to and taken out under the lock of the lease's row, which says whether there
// may be any (`awaited`). Each operation is one statement or one call of a function, which
// PostgreSQL runs as one transaction; the functions take new snapshots for each of their
// statements, so that they see who came while they waited for the row.
#pragma once

#include <string>

#include "stores/postgres/settings.hpp"

namespace herdlock::postgres {

/// What acquire is called for, as its function's argument.
enum class asking { once = 0, to_wait = 1, to_leave = 2 };

/// One row with 'true' when all of it is there.
std::string schema_query(settings const& what);
/// Makes what is missing; safe when others do the same at the same time. For people, too (see
/// set_up_script.hpp).
std::string schema_script(settings const& what);

/// The statements to prepare, by name: grab, acquire, renew, release, leave, force,
/// inspect, list, sweep.
std::vector<std::pair<std::string, std::string>> table_statements(settings const& what);

}  // namespace herdlock::postgres
