// The herdlock-lab binary, run to its end or kept running.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <support/program_run.hpp>
#include <vector>

namespace herdlock_test {

/// Starts `herdlock-lab ARGUMENTS`: the first names the scene.
child_process start_lab(std::vector<std::string> arguments, environment env = {});

/// The same, and waits for its end.
command_result run_lab(std::vector<std::string> arguments, environment env = {});

/// Runs it with --json behind the arguments and expects this exit status: what it printed.
nlohmann::json json_of_lab(std::vector<std::string> arguments, int code = 0, environment env = {});

}  // namespace herdlock_test
