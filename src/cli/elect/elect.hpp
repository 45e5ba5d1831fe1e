// `herdlock elect`: a command that runs on the leader, restarted at each term.
#pragma once

#include "elect/elect_options.hpp"

namespace herdlock::cli {

/// Returns the exit status; throws command_error for everything that gets one line.
int elect(elect_options const& options);

/// Prints the table.
int print_diagram(diagram_format format);

}  // namespace herdlock::cli
