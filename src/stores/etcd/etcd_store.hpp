// The store over an etcd cluster.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// `etcd://user:password@host:2379,host:2379`; `etcds:` for TLS. Speaks the v3 API (etcd 3.4 or
/// newer) through the server's JSON gateway. Connects when the first operation comes; lasting
/// connections go to one member, and to the next one when it fails.
/// Options: `timeout` (of each command, 50ms to 10m, default 5s), `connections` (for exchanges,
/// 1 to 256, default 16; the watches share one more), `max_pending` (commands under way, default
/// 65536; one more fails with errc::overloaded. As many releases without an answer are remembered);
/// with TLS `cafile`, `cert` and `key`, `verify`
/// (`full` or `none`).
///
/// Keeps leases only. A resource is the prefix of a queue of keys, as in etcd's own lock recipe:
/// it excludes `etcdctl lock` and the server's lock service under the same name. The fencing token
/// is the create revision. etcd counts leases in seconds and has a shortest one: the holder's
/// handle ends the lease at the ttl, and only after the holder crashed it lasts as long as etcd
/// granted. Letting go of the handle takes its waiters out of their queues.
result<backend> open_etcd(store_url url, asio::any_io_executor executor);

/// What is wrong with an etcd cluster for locks: see examine_store().
result<examination> examine_etcd(store_url url);

}  // namespace herdlock
