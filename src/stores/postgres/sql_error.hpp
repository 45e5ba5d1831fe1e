// The server's errors as herdlock's.
#pragma once

#include <herdlock/error.hpp>

#include "stores/postgres/rows.hpp"

namespace herdlock::postgres {

/// The store is not named in the message: its operation puts it in front.
failure to_failure(sql_error const& why);
/// Or may have ended before, it or its transaction: it was not there to tell of anything else.
bool ends_session(sql_error const& why);
/// A standby, or a server or role that was made read-only.
bool is_read_only(sql_error const& why);

}  // namespace herdlock::postgres
