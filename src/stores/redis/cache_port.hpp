// Cache entries, their claims and their events in Redis.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/router.hpp"
#include "stores/redis/watch_hub.hpp"

namespace herdlock::redis {

std::shared_ptr<cache_store> make_cache_port(std::shared_ptr<router> commands,
                                             std::shared_ptr<watch_hub> watches);

}  // namespace herdlock::redis
