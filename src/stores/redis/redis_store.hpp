// `redis://`, `rediss://`, `redis+unix:` and `redis+sentinel://` as a backend.
#pragma once

#include <herdlock/backend.hpp>
#include <herdlock/detail/async.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/survey.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// Opens a Redis server (6.2 or newer) as leases and cache. Never waits for the server: its state
/// shows in the operations.
///
/// `redis://[user[:password]@]host[:6379][/db]`, `rediss://…` (the same with TLS, which checks the
/// chain and the host name), `redis+unix:/path/of/socket?db=n&user=…&password=…`.
/// Options: `timeout` (each command's deadline, 50ms to 10m, default 2s); with TLS `cafile`, `cert`
/// and `key` (PEM files) and `verify=none`; `dialect` (herdlock, plain, getset), with the latter
/// two `prefix` (in front of each key), with getset `skew` (0 to 1m, default 1s). A dialect other
/// than herdlock keeps leases only, and has no fencing tokens.
///
/// `redis+sentinel://[user[:password]@]host[:26379],host…/mymaster[/db]`, `rediss+sentinel://…`:
/// the sentinels tell where the master is; user, password and TLS files are those of the data
/// servers, TLS files those of the sentinels, too. Options: `sentinel_user`, `sentinel_password`.
///
/// `wait_replicas` (1 to 16; `wait_timeout`, default and at most half of `timeout`, and 5s): a
/// lease counts when that many replicas have it. `quarantine=on` (`quarantine_ttl`, default 60s,
/// the longest ttl that is granted): a server that has just become the master grants nothing for
/// that long. Both are about leases; claims on cache entries are not waited for.
result<backend> open_redis(store_url url, asio::any_io_executor executor);

/// What is wrong with a server for locks, or with the one that Sentinel names: see examine_store().
result<examination> examine_redis(store_url url);
/// With each node that the URL names.
result<examination> examine_redlock(store_url url);
result<examination> examine_redis_cluster(store_url url);

/// Which keys of a server are used most, or of the one that Sentinel names: see survey_store().
result<survey> survey_redis(store_url url, survey_request const& request);
/// Of all masters.
result<survey> survey_redis_cluster(store_url url, survey_request const& request);

}  // namespace herdlock
