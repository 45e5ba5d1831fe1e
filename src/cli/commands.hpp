// The commands, each from its folder, as main() adds them.
#pragma once

#include <string>
#include <vector>

#include "terminal/command_line.hpp"

namespace herdlock::cli {

/// A command that runs only while a lease is held. `command` is what stands behind `--`.
runnable add_run_command(CLI::App& app, std::vector<std::string> command);
/// A command that runs on the leader, restarted at each term.
runnable add_elect_command(CLI::App& app, std::vector<std::string> command);
/// `show`, `release`, `wait`, `watch`: looking at leases, and an operator's last resort.
std::vector<runnable> add_look_commands(CLI::App& app);
/// What is wrong with a store for locks.
runnable add_doctor_command(CLI::App& app);
/// Which keys of a store are used most; below it what is said of keys in advance.
std::vector<runnable> add_hot_commands(CLI::App& app);
/// Below `help`: what store URLs may have behind their `?`, as the stores declare it.
runnable add_url_options_command(CLI::App& help);

}  // namespace herdlock::cli
