// Random numbers for jitter: fast, per thread, not for secrets.
#pragma once

namespace herdlock::runtime {

/// Uniform in [0, 1).
double random_unit();

}  // namespace herdlock::runtime
