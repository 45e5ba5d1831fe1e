// A process of its own that ends the command when this one cannot: because it was killed, or is
// stopped (SIGSTOP, a debugger) while the command runs on.
// Why: docs/decisions/command.md#the-watchdog-is-a-process
#pragma once

#include <array>
#include <atomic>
#include <herdlock/types.hpp>
#include <string>

#include "common/work_processes.hpp"
#include "terminal/unique_fd.hpp"

namespace herdlock::cli {

/// Started by the constructor, gone with the destructor. It shares a page with this process, which
/// tells it the group and the deadline, and a pipe, whose end tells it that this process is gone;
/// or a signal (PR_SET_PDEATHSIG) does, where a thread that the kernel holds, or a process that has
/// inherited it, keeps the pipe open. For the sake of the signal: make it on the main thread.
///
/// It is no child that wait() would tell of (its end sends no SIGCHLD): "no children" means that
/// the command is gone.
///
/// What it ends: the group, the descendants of this process, and whoever has the mark in its
/// environment, which finds those that left the group when there is no ancestor any more. Out of
/// its reach are then only processes that left the group, lost their parents, and wear another
/// environment or belong to another user.
///
/// It knows the group by its number. That is safe while this process is alive, since it tells the
/// watchdog to forget the number before it reaps the group's last one; after its end the number
/// could be another's only once the kernel has counted through all of them.
class watchdog {
 public:
  /// Throws command_error (internal) when it cannot be started. `mark` is in the environment of the
  /// command; at most 63 bytes. Children that this process has now are not the command's.
  watchdog(clock::time_point deadline, std::string const& mark);
  ~watchdog();
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;

  /// The group that is to be killed at the deadline, or when this process has gone. May be called
  /// by a child between fork() and execve().
  void watch(pid_t group) noexcept;
  /// Moves the deadline away.
  void allow_until(clock::time_point deadline) noexcept;
  /// The group is gone, and its number means nothing any more; others of the command may live.
  void forget_group() noexcept { shared_->group.store(0); }
  /// Nothing of the command is left.
  void stand_down() noexcept;

  /// The watchdog itself, and the children that were there before it; ends with 0.
  pid_t const* not_the_command() const noexcept { return shared_->strangers.data(); }

 private:
  struct page {
    std::atomic<clock::rep> deadline;
    std::atomic<pid_t> group;  // 0: no number of anybody's
    std::atomic<bool> armed;   // there is something to end
    std::array<char, 64> mark;
    std::array<pid_t, max_strangers + 2> strangers;  // ends with 0
  };
  static_assert(std::atomic<clock::rep>::is_always_lock_free);

  struct signs_of_life;
  [[noreturn]] static void guard(page& shared, int pipe, pid_t parent) noexcept;
  static void end_work(page& shared, pid_t parent) noexcept;

  page* shared_;
  unique_fd alive_;
  pid_t id_ = -1;
};

}  // namespace herdlock::cli
