// `herdlock show`, `release`, `wait`, `watch`: looking at leases, and an operator's last resort.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "terminal/store_argument.hpp"

namespace herdlock::cli {

/// As typed; one of the commands is given, so they share.
struct look_arguments {
  std::vector<std::string> names;
  store_arguments store;
  std::string timeout;  ///< of `wait`; empty: for ever
  std::string interval = "1s";
  std::optional<std::size_t> limit;  ///< of `show` without names
  bool force = false;
  bool json = false;
};

/// A command, and what it does when it was given. Throws command_error.
using runnable = std::pair<CLI::App*, std::function<int()>>;

/// Adds them; `arguments` is filled by the parser.
std::vector<runnable> add_look_commands(CLI::App& app, look_arguments& arguments);

}  // namespace herdlock::cli
