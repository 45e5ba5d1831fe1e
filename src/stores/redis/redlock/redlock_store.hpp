// `redlock://` as a backend: leases over independent Redis servers.
#pragma once

#include <herdlock/backend.hpp>
#include <herdlock/detail/async.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// Opens 3 to 15 independent Redis servers (6.2 or newer) as one store of leases, each granted by
/// a majority of them. Never waits for the servers: their state shows in the operations.
///
/// `redlock://[user[:password]@]host1[:6379],host2,host3[/db]`, the same login and database for
/// all. Options: `timeout` (each command's deadline and that of connecting, 50ms to 10m, default
/// 2s), `node_timeout` (how long an operation waits for a node before it decides without it, and
/// never longer than a quarter of the ttl; 5ms to the timeout, default 200ms), `restart_delay` (a
/// node that was started less than so long ago grants nothing, and no ttl may be longer; default
/// 60s, 0 for none), `tls=on`, and with it `cafile`, `cert`, `key` (PEM files), `verify=none`.
result<backend> open_redlock(store_url url, asio::any_io_executor executor);

}  // namespace herdlock
