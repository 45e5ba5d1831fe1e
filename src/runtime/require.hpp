// Preconditions that are checked in every build.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace herdlock::runtime {

/// Ends the process with a message when a caller broke the contract: going on would break
/// somebody's exclusion.
inline void require(bool holds, char const* what) {
  if (holds) return;
  std::fprintf(stderr, "herdlock: broken precondition: %s\n", what);
  std::abort();
}

}  // namespace herdlock::runtime
