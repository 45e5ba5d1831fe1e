// The result of a load, for its own process and for the others.
#pragma once

#include <string>

#include <herdlock/backend.hpp>
#include <herdlock/detail/cache_core.hpp>

#include "algo/load_machine.hpp"
#include "cache/keys/freshness.hpp"

namespace herdlock::runtime {

/// The error of another's load, as our callers see it.
std::string error_told(cache_engine& home, cache_key const& key, load_backing_off what);

/// The error of our load, as the others are told of it.
shared_failure error_to_tell(cache_engine& home, cache_key const& key, std::string const& text);

/// The bytes that the outcome takes while it is kept, as its codec sees them. A value that does not
/// encode says nothing of its size; it counts as bytes_not_known.
std::size_t bytes_of(detail::load_outcome const& outcome) noexcept;
inline constexpr std::size_t bytes_not_known = 1024 * 1024;

/// The outcome of a loader that was not started: an error of this process, and no word on the key.
detail::load_outcome not_begun(failure const& why);

/// `extensions`: of the header that its entry is to have.
algo::load_result result_of(cache_engine const& home, detail::load_outcome const& outcome,
                            std::string_view extensions);

}  // namespace herdlock::runtime
