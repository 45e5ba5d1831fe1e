// The ttl that a store can prove.
#pragma once

#include <algorithm>

#include <herdlock/backend.hpp>

namespace herdlock::runtime {

/// A lease that the store proves for less than was asked is one of that length, renewed as usual.
inline milliseconds fitted_ttl(store_traits const& where, milliseconds asked) {
  if (where.longest_validity <= milliseconds{0}) return asked;
  return std::min(asked, where.longest_validity);
}

}  // namespace herdlock::runtime
