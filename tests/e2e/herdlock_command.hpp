// The herdlock binary, run to its end or kept running.
#pragma once

#include <string>
#include <support/program_run.hpp>
#include <vector>

namespace herdlock_test {

/// Starts `herdlock ARGUMENTS`.
child_process start_herdlock(std::vector<std::string> arguments, environment env = {});

/// The same, and waits for its end.
command_result run_herdlock(std::vector<std::string> arguments, environment env = {});

}  // namespace herdlock_test
