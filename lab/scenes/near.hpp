// `herdlock demo near`: who sees a change when, while connections stand still.
#pragma once

#include "scenes/near_options.hpp"

namespace herdlock::cli {

/// Returns the exit status; throws command_error for everything that gets one line.
int near_demo(near_options const& options);

}  // namespace herdlock::cli
