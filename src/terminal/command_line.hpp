// A program of several commands: how its words are read, and how it ends.
#pragma once

#include <CLI/App.hpp>
#include <string_view>

namespace herdlock::cli {

/// A command, and what it does when it was given: its exit status. Throws command_error.
using runnable = std::pair<CLI::App*, std::function<int()>>;

class command_line {
 public:
  command_line(std::string name, std::string description, std::string footer);

  /// The program itself, for what is added below it.
  CLI::App& app() { return app_; }
  /// Of commands below each other the last one typed runs.
  void add(runnable command) { commands_.push_back(std::move(command)); }
  void add(std::vector<runnable> commands);
  /// `help`: the manual page, the completion of the shells and the list of commands, all from the
  /// options as they are parsed. The command, for what is added below it, which `below` names.
  CLI::App& add_help(std::string const& about, std::string const& below = {});

  /// Reads the words and does what they say. Without a command the help goes to standard error.
  /// Throws command_error for a command that there is not, for what standard output does not take,
  /// and what the command throws.
  int run(std::vector<std::string> words);

 private:
  CLI::App app_;
  std::vector<runnable> commands_;
};

/// Adds a command. `usage` stands behind its name in the first line of its help, `footer` below its
/// options.
CLI::App& add_command(CLI::App& below, std::string const& name, std::string about,
                      std::string const& usage, std::string footer = {});

/// An option with a value of this type; what `into` is before is the default, and told.
template <class T>
CLI::Option* add_value(CLI::App& app, std::string name, T& into, char const* type,
                       std::string about) {
  return app.add_option(std::move(name), into, std::move(about))
      ->type_name(type)
      ->capture_default_str();
}

/// What `work` returns; what it throws is one line on standard error, behind the program's name,
/// and the exit status that it stands for.
int ended(std::string_view program, std::function<int()> const& work);

}  // namespace herdlock::cli
