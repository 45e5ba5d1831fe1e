// A real process that never outlives its test.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <support/eventually.hpp>

namespace herdlock_test {

enum class process_group { inherited, own };
enum class process_input { none, pipe };
/// Skipped: what the program syncs is not waited for (libeatmydata), so that a test waits for the
/// program and not for the disk. Go's programs don't notice.
enum class disk_syncs { kept, skipped };

struct child_options {
  std::vector<std::string> argv;                           ///< argv[0] is looked up in PATH
  std::vector<std::pair<std::string, std::string>> env{};  ///< added to this process's
  process_group group = process_group::inherited;
  std::filesystem::path folder{};             ///< working directory; empty: this process's
  std::string user{};                         ///< run as; only when this process is root
  process_input input = process_input::none;  ///< none: /dev/null
  disk_syncs syncs = disk_syncs::kept;
};

/// How it ended: exactly one of the two is set.
struct exit_status {
  std::optional<int> code;
  std::optional<int> signal;
  friend bool operator==(exit_status const&, exit_status const&) = default;
};

/// Starts in the constructor (throws std::runtime_error when the program is missing); the
/// destructor kills and reaps it, by pid. The kernel kills it too when the *thread* that started
/// it ends, so start children from a thread that stays (a test's main thread). What it prints
/// is kept in memory. Use from one thread at a time.
class child_process {
 public:
  explicit child_process(child_options options);
  ~child_process();
  child_process(child_process&& other) noexcept;
  child_process& operator=(child_process&& other) noexcept;

  pid_t pid() const { return pid_; }
  bool running();

  /// Sends the signal to the process, or to its group if it has its own. Nothing once reaped.
  void signal(int number);
  void pause();  ///< SIGSTOP, and waits until it has stopped
  /// The same where it keeps no file locked against everybody, as one that uses SQLite does within
  /// a transaction: the others would wait for that and not for what it holds in the store. Throws
  /// when it is never met like that.
  void pause_between_transactions();
  void resume();       ///< SIGCONT
  exit_status kill();  ///< SIGKILL, and reaps

  /// Its end; nothing when it still runs at the deadline.
  std::optional<exit_status> wait(std::chrono::milliseconds deadline = patience);

  /// To its standard input, which must be a pipe, with a newline. Throws when it has gone.
  void write_line(std::string const& text);

  std::string output() const;  ///< standard output so far
  std::string errors() const;  ///< standard error so far

 private:
  bool reap();
  void close_all();

  pid_t pid_ = -1;
  process_group group_ = process_group::inherited;
  int input_ = -1;
  int output_ = -1;
  int errors_ = -1;
  std::optional<exit_status> ended_;
};

/// Runs a command to its end; throws with what it printed when it fails.
std::string run_command(child_options options);

/// The path of a program in PATH or /usr/sbin; throws, naming the Debian package to install.
std::string find_program(std::string const& name, std::string const& package);

}  // namespace herdlock_test
