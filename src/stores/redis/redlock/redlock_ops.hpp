// The lease port's operations over the nodes of a redlock store.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/redlock/redlock_core.hpp"

namespace herdlock::redis {

std::shared_ptr<lease_store> make_redlock_port(std::shared_ptr<redlock_core> core);

}  // namespace herdlock::redis
