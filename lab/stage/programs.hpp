// Real programs that a scene starts: the `herdlock` that it tries, and what that runs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <support/child_process.hpp>
#include <vector>

#include "stage/options.hpp"
#include "stage/shared.hpp"

namespace herdlock::lab {

/// --command: the program, else the `herdlock` beside this one. Throws command_error (usage) when
/// there is none.
std::string herdlock_program(std::string const& named);

/// When a command was at work, by steady_ns(); 0: never.
struct life {
  std::atomic<std::int64_t> first_ns;
  std::atomic<std::int64_t> last_ns;
  std::atomic<std::int64_t> stood_still_ns;  ///< at most, between two of its milliseconds
};
using lives = std::array<life, 3>;

/// The file's content, shared with all who map it until the end of this process: a program that is
/// started anew inherits no memory. A new file is all zeros.
lives& lives_in(std::filesystem::path const& file);

/// `herdlock run`, with a command that is at work until it is killed: this program once more, which
/// shows in a file each millisecond that it is alive.
class run_trial {
 public:
  enum class command {
    ends_at_sigterm,
    refuses_sigterm,  ///< two processes, which have two lives
  };

  /// Of this scene: its play() begins with live_if_asked().
  explicit run_trial(char const* scene) : scene_(scene) {}

  void declare(options& all);
  void check();
  /// Does not return in a process that is the command of a trial.
  void live_if_asked() const;

  /// `herdlock run job --store URL HOW… -- COMMAND`; the command has this life, and the next one.
  herdlock_test::child_process start(std::string const& url, std::vector<std::string> const& how,
                                     std::filesystem::path const& file, std::size_t number,
                                     command what) const;

 private:
  char const* const scene_;
  std::string program_;
  // Of the command.
  std::string file_;
  std::size_t number_ = 0;
  bool refuses_ = false;
};

}  // namespace herdlock::lab
