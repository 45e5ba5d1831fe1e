// The command to run: found before anything is acquired.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace herdlock::cli {

/// Everything that execve() wants, made before fork(): a child of a process with threads may not
/// allocate.
class prepared_command {
 public:
  /// Looks the program up as a shell does. Throws command_error: not_found, not_executable.
  explicit prepared_command(std::vector<std::string> arguments);

  /// Added to the environment that the program gets: ours without HERDLOCK_STORE when that holds a
  /// secret.
  void set_environment(std::vector<std::pair<std::string, std::string>> const& added);

  /// In the child: becomes the program, or returns with errno set. Async-signal-safe.
  void execute() const noexcept;

  std::string const& name() const { return arguments_.front(); }

  /// In HERDLOCK_WORK of its environment, behind what was there: whatever process has it is of this
  /// command.
  std::string const& mark() const { return mark_; }

 private:
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::string path_;
  std::string mark_;
  std::vector<char*> argv_;
  std::vector<char*> shell_argv_;  // for a script without a #! line
  std::vector<char*> envp_;
};

/// The error that a failed execve() or look-up stands for.
[[noreturn]] void raise_exec_failure(std::string const& name, int reason);

}  // namespace herdlock::cli
