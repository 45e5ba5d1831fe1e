// `redis+cluster://` and `rediss+cluster://` as a backend.
#pragma once

#include <herdlock/backend.hpp>
#include <herdlock/detail/async.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// Opens a Redis Cluster (6.2 or newer) as leases and cache. Never waits for the servers: their
/// state shows in the operations.
///
/// `redis+cluster://[user[:password]@]host[:6379][,host…]`, `rediss+cluster://…` with TLS. The
/// hosts are some of its nodes, of which one must answer; the others are found through it, by the
/// addresses that they announce. Options as for open_redis(). There is no database number.
result<backend> open_redis_cluster(store_url url, asio::any_io_executor executor);

}  // namespace herdlock
