// Leases in MariaDB or MySQL.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// `mysql://user:password@host:port/database?mode=table|row|named`; `mariadb://` is the same.
/// Connects when it is first used, in threads of its own. MariaDB 10.3 or MySQL 8.0, or later.
///
/// Options: `mode` (table), `table` (of the leases; made on first use if the user may), `timeout`
/// (of each command, 2s), `pool` (connections; in row and named mode one for each lease that is
/// held and for each resource that is waited for: 64; in table mode 16), `keep` (how long a row
/// without a holder is kept, 1h), `max_pending` (operations under way, 65536), `socket` (path of a
/// Unix socket), `tls=on` with `cafile`, `cert`, `key` and `verify=full|none`.
///
/// Leases only, no cache. docs/stores/mysql.md says what each mode promises.
result<backend> open_mysql(store_url url, asio::any_io_executor executor);

/// What is wrong with a MariaDB or MySQL server for locks: see examine_store().
result<examination> examine_mysql(store_url url);

}  // namespace herdlock
