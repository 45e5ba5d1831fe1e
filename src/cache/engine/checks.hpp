// Whether a cache can be what its options say.
#pragma once

#include <optional>

#include <herdlock/cache_options.hpp>
#include <herdlock/call_options.hpp>
#include <herdlock/open.hpp>

namespace herdlock::runtime {

/// Throws herdlock::error for options outside their ranges, and for stores that cannot do it. Gives
/// what near_options::mode comes to.
near_cache check_cache(cache_options const& options, store const& values,
                       std::optional<store> const& locks);

/// errc::invalid_value for options of a call that loads which are out of their range, or which this
/// cache has not what it needs for.
failure check_call_options(cache_options const& options, call_options const& how);

}  // namespace herdlock::runtime
