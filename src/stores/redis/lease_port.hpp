// Leases in Redis: a plain string at the resource's own key, as `SET key owner NX PX ttl` makes it.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/durability/confirmation.hpp"
#include "stores/redis/queue/lease_queues.hpp"

namespace herdlock::redis {

/// With `confirmed` grants and renewals count when they are safe from a failover; else it is null.
std::shared_ptr<lease_store> make_lease_port(std::shared_ptr<router> commands,
                                             std::shared_ptr<lease_queues> queue,
                                             std::shared_ptr<confirmation> confirmed);

}  // namespace herdlock::redis
