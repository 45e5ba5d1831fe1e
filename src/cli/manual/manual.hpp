// `herdlock help`: the manual page, the completion of the shells and the list of commands, all from
// the options as they are parsed, so that none can say anything else than --help does.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "manual/url_options.hpp"

namespace herdlock::cli {

struct help_arguments {
  bool man = false;
  bool commands = false;
  std::string completion;  ///< bash, zsh or fish
  url_options_arguments options;
};

/// A command as it is typed, and its options. Hidden ones are left out.
struct command_node {
  std::string path;  ///< `herdlock demo stampede`
  CLI::App const* app;
  bool group;  ///< it has commands of its own
  bool acts;   ///< it does something by itself: `herdlock hot`, but not `herdlock demo`
};
std::vector<command_node> commands_of(CLI::App const& root);

/// As typed, with their dashes; `--help` too.
std::vector<std::string> option_names(CLI::App const& app);

CLI::App* add_help_command(CLI::App& app, help_arguments& arguments);

/// Prints what was asked for. Throws command_error (usage).
int help(CLI::App const& root, help_arguments const& arguments);

std::string man_page(CLI::App const& root);
/// Throws command_error (usage) for a shell that it does not know.
std::string completion(CLI::App const& root, std::string const& shell);

}  // namespace herdlock::cli
