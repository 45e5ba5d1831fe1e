// `herdlock run`: a command that runs only while the lease is held.
#pragma once

#include "run/run_options.hpp"

namespace herdlock::cli {

/// Returns the exit status; throws command_error for everything that gets one line.
int run(run_options const& options);

}  // namespace herdlock::cli
