// A process of its own that ends the command when this one cannot: because it was killed, or is
// stopped (SIGSTOP, a debugger) while the command runs on.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <herdlock/types.hpp>

#include "common/unique_fd.hpp"

namespace herdlock::cli {

/// Started by the constructor, gone with the destructor. It shares a page with this process, which
/// tells it the group and the deadline, and a pipe, whose end tells it that this process is gone.
///
/// It knows the group by its number. That is safe while this process is alive, since it reaps the
/// group's last one only then tells the watchdog; after its end the number could be another's only
/// once the kernel has counted through all of them.
class watchdog {
 public:
  /// Throws command_error (internal) when it cannot be started.
  explicit watchdog(clock::time_point deadline);
  ~watchdog();
  watchdog(watchdog const&) = delete;
  watchdog& operator=(watchdog const&) = delete;

  /// The group that is to be killed at the deadline, or when this process has gone. May be called
  /// by a child between fork() and execve().
  void watch(pid_t group) noexcept;
  /// Moves the deadline away.
  void allow_until(clock::time_point deadline) noexcept;
  /// The group is gone; its number means nothing any more.
  void stand_down() noexcept { watch(0); }

 private:
  struct page {
    std::atomic<clock::rep> deadline;
    std::atomic<pid_t> group;
  };
  static_assert(std::atomic<clock::rep>::is_always_lock_free);

  [[noreturn]] static void guard(page& shared, int pipe) noexcept;

  page* shared_;
  unique_fd alive_;
  pid_t id_ = -1;
};

}  // namespace herdlock::cli
