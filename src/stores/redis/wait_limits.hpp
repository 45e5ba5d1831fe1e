// What everybody who waits on Redis knows of time.
#pragma once

#include <herdlock/types.hpp>

namespace herdlock::redis {

/// Beyond this a wait is "for ever" and is given back to the caller to ask again.
inline constexpr milliseconds longest_wait{std::chrono::hours{24}};

/// Redis expires a key in the millisecond after its ttl.
inline constexpr milliseconds expiry_slack{2};

/// PTTL is -1 for a key without a ttl. 0 is "unknown".
inline milliseconds remaining_of(std::int64_t pttl) { return milliseconds(pttl > 0 ? pttl : 0); }

}  // namespace herdlock::redis
