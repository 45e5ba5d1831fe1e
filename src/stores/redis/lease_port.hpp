// Leases in Redis: a plain string at the resource's own key, as `SET key owner NX PX ttl` makes it.
#pragma once

#include <memory>

#include <herdlock/store.hpp>
#include "stores/redis/router.hpp"

namespace herdlock::redis {

std::shared_ptr<lease_store> make_lease_port(std::shared_ptr<router> commands);

}  // namespace herdlock::redis
