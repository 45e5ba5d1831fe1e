// The Lua scripts of the cache: one per step.
#pragma once

#include "stores/redis/scripts/script.hpp"

namespace herdlock::redis {

struct cache_script_set {
  script claim, look, extend, fill, fail, put, invalidate, expire;
};

cache_script_set const& cache_scripts();

}  // namespace herdlock::redis
