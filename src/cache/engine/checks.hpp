// Whether a cache can be what its options say.
#pragma once

#include <optional>

#include <herdlock/cache_options.hpp>
#include <herdlock/open.hpp>

namespace herdlock::runtime {

/// Throws herdlock::error for options outside their ranges, and for stores that cannot do it. Gives
/// what near_options::mode comes to.
near_cache check_cache(cache_options const& options, store const& values,
                       std::optional<store> const& locks);

}  // namespace herdlock::runtime
