// `herdlock demo stampede`: plays the modes one after the other, and reports.
#pragma once

#include "scenes/stampede_options.hpp"

namespace herdlock::cli {

/// Returns the exit status; throws command_error for everything that gets one line.
int stampede(stampede_options options);

}  // namespace herdlock::cli
