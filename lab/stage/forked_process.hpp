// A process that does a piece of this program's work and dies with it.
#pragma once

#include <sys/types.h>

#include <functional>

namespace herdlock::lab {

/// Forked, not executed: start it from a process without threads. Killed and reaped with its owner;
/// the kernel kills it when this process ends in whatever way.
class forked_process {
 public:
  /// `work` throws nothing, and returns the child's status. Throws command_error (internal) when no
  /// process can be had.
  explicit forked_process(std::function<int()> const& work);
  forked_process(forked_process&& other) noexcept { *this = std::move(other); }
  forked_process& operator=(forked_process&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(failed_, other.failed_);
    return *this;
  }
  ~forked_process() { kill(); }

  void signal(int number) const;
  /// SIGKILL, and waits until it is gone.
  void kill();
  /// It has ended by itself. Does not wait.
  bool ended();
  /// When it has: not with status 0.
  bool failed() const { return failed_; }

 private:
  pid_t id_ = -1;
  bool failed_ = false;
};

/// The signals that a user ends a command with are noted from now on, not obeyed.
void note_interruptions();
/// Throws command_error, 128 + the signal, when one has been noted.
void throw_if_interrupted();

}  // namespace herdlock::lab
