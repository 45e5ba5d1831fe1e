// The manual page, the completion of the shells and the list of commands of a program, from its
// options as they are parsed, so that none can say anything else than --help does.
// Why: docs/decisions/command.md#one-source-for-help
#pragma once

#include <CLI/App.hpp>
#include <CLI/Formatter.hpp>

namespace herdlock::cli {

/// CLI11's help with a usage line of our own. Each command has one.
class usage_line : public CLI::Formatter {
 public:
  explicit usage_line(std::string line) : line_(std::move(line)) { column_width(26); }

  std::string const& line() const { return line_; }
  std::string make_usage(CLI::App const*, std::string) const override {
    return "Usage: " + line_ + "\n";
  }

 private:
  std::string line_;
};

/// A command as it is typed: `herdlock hot add`.
std::string path_of(CLI::App const& command);
/// A line for each that does something by itself.
std::string list_of_commands(CLI::App const& root);
std::string man_page(CLI::App const& root);
/// Throws command_error (usage) for a shell that it does not know.
std::string completion(CLI::App const& root, std::string const& shell);

}  // namespace herdlock::cli
