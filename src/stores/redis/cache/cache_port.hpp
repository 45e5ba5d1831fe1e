// Cache entries, their claims and their events in Redis.
#pragma once

#include <memory>

#include <herdlock/backend.hpp>
#include "stores/redis/cache/cache_watches.hpp"
#include "stores/redis/client/router.hpp"

namespace herdlock::redis {

std::shared_ptr<cache_store> make_cache_port(std::shared_ptr<router> commands,
                                             std::shared_ptr<cache_watches> watches);

}  // namespace herdlock::redis
