// The nodes above the queue: the chroot's, which stay, and the resource's container, which the
// server removes some time after its last child.
#pragma once

#include <functional>
#include <memory>

#include "stores/zookeeper/session.hpp"

namespace herdlock::zookeeper {

/// Makes what is missing of `path` and calls `done` with ZOK, or with what went wrong (and with the
/// path concerned) as an event. Another may remove the node again before the caller gets to use it.
void make_parents(session& ensemble, std::string const& path, std::weak_ptr<void> owner,
                  std::function<void(int code, std::string const& path)> done);

}  // namespace herdlock::zookeeper
