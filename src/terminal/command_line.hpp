// A program of several commands: how its words are read, and how it ends.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace herdlock::cli {

/// A command, and what it does when it was given: its exit status. Throws command_error.
using runnable = std::pair<CLI::App*, std::function<int()>>;

class command_line {
 public:
  command_line(std::string name, std::string description, std::string footer);

  /// The program itself, for what is added below it.
  CLI::App& app() { return app_; }
  void add(runnable command) { commands_.push_back(std::move(command)); }
  void add(std::vector<runnable> commands);

  /// Reads the words and does what they say. Without a command the help goes to standard error.
  /// Throws command_error for a command that there is not, and what the command throws.
  int run(std::vector<std::string> words);

 private:
  int fail_to_read(CLI::ParseError const& why) const;

  CLI::App app_;
  std::vector<runnable> commands_;
};

/// What `work` returns; what it throws is one line on standard error, behind the program's name,
/// and the exit status that it stands for.
int ended(std::string_view program, std::function<int()> const& work);

}  // namespace herdlock::cli
