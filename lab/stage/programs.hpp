// Real programs that a scene starts: the `herdlock` that it tries, and what that runs.
#pragma once

#include <support/child_process.hpp>

#include "stage/scene.hpp"

namespace herdlock::lab {

/// --command: the program, else the `herdlock` beside this one. Throws command_error (usage) when
/// there is none.
std::string herdlock_program(std::string const& named);

/// `herdlock run` with a command that is at work until it is killed, and another one that waits for
/// the same job: then the lock is taken from the first. The commands are this program once more,
/// which shows in a file each millisecond that it is alive.
class run_trial {
 public:
  using program = herdlock_test::child_process;

  /// How the lock is taken away.
  struct taking {
    std::string holder_url, next_url;
    std::vector<std::string> how{};    ///< options of both
    bool refuses_sigterm = false;      ///< the first command: two processes, which refuse it
    milliseconds waits_unseen{1'000};  ///< where no store tells that the next one waits
    /// Called when the next one waits: what takes it away. What is to be looked up before is looked
    /// up here, and costs no time after.
    std::function<std::function<void()>(program& holder)> prepare{};
    std::function<void()> mend = [] {};  ///< so that the next one can go on
  };
  struct outcome {
    double gap_ms = 0;       ///< from the command's last sign of life to the next one's first
    double outlived_ms = 0;  ///< from when the lock was taken away to that last sign
    /// The longest time that a process of the command did not get to run.
    double stood_still_ms = 0;
    bool seen_waiting = false;  ///< the store told that the next one waits
    bool told = false;          ///< herdlock run ended with 76
    bool lived_on = false;      ///< the command, when the next one had begun
  };

  /// Of this scene: its play() begins with live_if_asked().
  explicit run_trial(char const* scene) : scene_(scene) {}

  void declare(options& all);
  void check();
  /// Does not return in a process that is the command of a trial.
  void live_if_asked() const;

  outcome play(stage& on, taking const& what) const;

 private:
  char const* const scene_;
  std::string program_;
  // Of the command.
  std::string file_;
  std::size_t number_ = 0;
  bool refuses_ = false;
};

}  // namespace herdlock::lab
