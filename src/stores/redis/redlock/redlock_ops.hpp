// The lease port's operations over the nodes of a redlock store.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/redlock/redlock_core.hpp"

namespace herdlock::redis {

void redlock_acquire(std::shared_ptr<redlock_core> const& core, acquire_request request,
                     handler<acquire_reply> done);

std::shared_ptr<lease_store> make_redlock_port(std::shared_ptr<redlock_core> core);

}  // namespace herdlock::redis
