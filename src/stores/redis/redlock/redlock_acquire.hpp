// An acquisition over the nodes of a redlock store.
#pragma once

#include <herdlock/backend.hpp>
#include "stores/redis/redlock/redlock_core.hpp"

namespace herdlock::redis {

void redlock_acquire(std::shared_ptr<redlock_core> const& core, acquire_request request,
                     handler<acquire_reply> done);

}  // namespace herdlock::redis
