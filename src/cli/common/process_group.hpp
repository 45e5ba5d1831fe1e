// The command and everything it starts, in its process group or not, which can be ended for
// certain.
#pragma once

#include <functional>

#include "common/command.hpp"
#include "common/group_reaper.hpp"
#include "common/terminal.hpp"
#include "common/watchdog.hpp"

namespace herdlock::cli {

struct start_options {
  clock::time_point not_after;
  std::function<void()> while_waiting;  ///< called again and again until the program runs
};

/// Started by the constructor. This process becomes the reaper of all descendants, so that "it is
/// gone" is something the kernel says, not something that is guessed: also of processes that left
/// the group (timeout, `set -m`, setsid, a daemon), since the kernel hands them to us when their
/// parents end.
///
/// Call from the main thread only: the kernel ties the leader's life (PR_SET_PDEATHSIG) to the
/// thread that started it.
class process_group final : private child_table {
 public:
  /// Throws command_error when the program cannot be executed after all, or (lost) when it could
  /// not be before `when.not_after`: then it has not been. `dog` watches the group from before the
  /// program is executed.
  process_group(prepared_command const& command, terminal& tty, watchdog& dog,
                start_options const& when);
  process_group(process_group const&) = delete;
  process_group& operator=(process_group const&) = delete;

  pid_t id() const { return id_; }

  /// To every process of the group.
  void signal(int number) const;

  /// To every process of the command's, in the group or not; 0 only asks.
  work_seen signal_all(int number) const;

  /// Reaps what has ended, a bounded number. To be called on SIGCHLD; does not wait.
  group_changes collect() { return reaper_->turn(); }

  /// No process of the command's is left.
  bool gone() const;

  /// None is left in the group; there may be others.
  bool group_gone() const { return reaper_->group_over(); }

  /// The leader's exit status as a shell gives it; nothing while it runs.
  std::optional<int> const& leader_status() const { return reaper_->leader_status(); }

 private:
  work_signs all() const;

  std::optional<child_news> ended() override;
  std::optional<child_news> stopped() override;
  void reap(pid_t child) override;
  pid_t group_of(pid_t process) override;
  pid_t child_in(pid_t group, pid_t but_not) override;
  work_seen walk(pid_t group) override;
  void group_is_over() override { dog_.forget_group(); }

  watchdog& dog_;
  pid_t id_ = -1;
  std::optional<group_reaper> reaper_;  // from the moment on that there is a group
};

}  // namespace herdlock::cli
