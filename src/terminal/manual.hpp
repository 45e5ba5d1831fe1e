// The manual page, the completion of the shells and the list of commands of a program, from its
// options as they are parsed, so that none can say anything else than --help does.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace herdlock::cli {

/// A command as it is typed. Hidden ones are left out.
struct command_node {
  std::string path;  ///< `herdlock hot add`
  CLI::App const* app;
  std::vector<CLI::App const*> below;

  /// It does something by itself: `herdlock hot`, but not the program without a command.
  bool acts() const;
};
std::vector<command_node> commands_of(CLI::App const& root);

/// A line for each that acts.
std::string list_of_commands(CLI::App const& root);
std::string man_page(CLI::App const& root);
/// Throws command_error (usage) for a shell that it does not know.
std::string completion(CLI::App const& root, std::string const& shell);

}  // namespace herdlock::cli
