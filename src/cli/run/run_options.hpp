// `herdlock run`: what was asked for, checked.
#pragma once

#include <CLI/App.hpp>
#include <herdlock/lock.hpp>
#include <string>
#include <vector>

namespace herdlock::cli {

/// As typed.
struct run_arguments {
  std::string name;
  std::string store;  ///< empty: the default store
  std::string ttl = "30s";
  std::string wait = "none";
  std::string grace;  ///< empty: a quarter of the ttl, at most 10 s
  std::vector<std::string> command;
};

/// As meant.
struct run_options {
  resource name;
  std::string store_url;
  milliseconds ttl;
  milliseconds wait;
  milliseconds grace;
  std::vector<std::string> command;
};

/// Adds the subcommand. What stands after `--` is not CLI11's business: the caller puts it into
/// `arguments.command`.
CLI::App* add_run_command(CLI::App& app, run_arguments& arguments);

/// Throws command_error (usage) naming the argument that is wrong.
run_options check(run_arguments const& arguments);

}  // namespace herdlock::cli
