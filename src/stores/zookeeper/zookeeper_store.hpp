// Locks in a ZooKeeper ensemble.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <herdlock/backend.hpp>
#include <herdlock/examination.hpp>
#include <herdlock/url.hpp>

namespace herdlock {

/// `zk://[user:password@]host[:port],…[/chroot]`. Connects in the background; port 2181 by default.
/// Options: `timeout` (of each command, default 5s), `session_timeout` (default 10s, 1s to 10m),
/// `session_grace` (0 to 5m: who succeeds a holder that did not release waits so long first),
/// `names=curator|kazoo` (how our nodes are called; both are honoured), `acl=creator|open` (of what
/// we make; `creator` with a user, else `open`), `auth=digest` (the only kind, and the default),
/// `max_pending` (operations under way, default 65536).
///
/// A resource is a container node below the chroot, its name with all but printable ASCII, and
/// '%' and '/', written as %XX; holder and waiters are ephemeral sequential children of it. The
/// lowest sequence number holds; each waits for its predecessor alone.
///
/// A lease ends with its session. The ensemble may end a silent session after `session_timeout`; a
/// lease is therefore proved for a third of that at once (store_traits::longest_validity), by a
/// write that a majority took. Fencing tokens are czxids. Letting go of the handle closes the
/// session, which may take as long as the socket takes to flush, but at most `timeout`: what is not
/// done by then, a look-up of a host name that hangs above all, is left behind in threads of its
/// own.
result<backend> open_zookeeper(store_url url, asio::any_io_executor executor);

/// What is wrong with a ZooKeeper ensemble for locks: see examine_store().
result<examination> examine_zookeeper(store_url url);

}  // namespace herdlock
