// The list of resources: all keys, in their order, a part at a time.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <memory>

#include <herdlock/backend.hpp>
#include "stores/etcd/connection_pool.hpp"
#include "stores/etcd/operations.hpp"

namespace herdlock::etcd {

/// Completes the operation with the names of resources (`NAME/HEX` with a lease) among the next
/// keys; the cursor is the last of these.
asio::awaitable<void> list_part(std::shared_ptr<connection_pool> connections,
                                herdlock::list_request asked, std::shared_ptr<list_operation> op);

}  // namespace herdlock::etcd
