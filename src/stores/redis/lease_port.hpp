// Leases in Redis: a plain string at the resource's own key, as `SET key owner NX PX ttl` makes it.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/client/router.hpp"
#include "stores/redis/queue/lease_queues.hpp"

namespace herdlock::redis {

/// Without a queue the wait of a request is ignored.
std::shared_ptr<lease_store> make_lease_port(std::shared_ptr<router> commands,
                                             std::shared_ptr<lease_queues> queue);

}  // namespace herdlock::redis
