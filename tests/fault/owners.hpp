// Two owners, for tests that need no more.
#pragma once

#include <herdlock/types.hpp>

namespace herdlock_test {

inline herdlock::owner_token const mine = herdlock::owner_token::generate();
inline herdlock::owner_token const other = herdlock::owner_token::generate();

}  // namespace herdlock_test
