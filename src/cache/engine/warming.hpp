// Loads that rules ask for, before people do.
#pragma once

#include <memory>

#include "cache/engine/engine.hpp"

namespace herdlock::runtime {

/// The keys that rules pin are loaded by the cache's own loader, and kept.
/// REQUIRES: the cache has a loader. On the executor.
void warm_by_rules(std::shared_ptr<cache_engine> const& engine);

}  // namespace herdlock::runtime
