// The answer to an owner that asks again for what it has.
#pragma once

#include <algorithm>

#include <herdlock/backend.hpp>

namespace herdlock::stores {

/// The same grant, not prolonged: it runs since it was made, not since this request. `asked`: a
/// time before the store looked how much is left.
inline grant granted_before(fencing_token fencing, clock::time_point asked, milliseconds left,
                            milliseconds ttl) {
  auto const rest = std::clamp(left, milliseconds{0}, ttl);
  return grant{fencing, grant_validity{asked - (ttl - rest), ttl}};
}

}  // namespace herdlock::stores
