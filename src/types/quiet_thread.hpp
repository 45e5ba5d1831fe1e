// Threads of our own: those that run the library take no signals, those that run a user's work have
// the signals of the user's thread.
#pragma once

#include <signal.h>

#include <functional>
#include <thread>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The signals that a thread has blocked.
class signal_mask {
 public:
  static signal_mask of_this_thread();
  /// From here on this thread has it, too.
  void take_on() const;

 private:
  signal_mask() = default;
  sigset_t set_{};
};

/// While it lives, its thread blocks all signals but those of a fault of its own (SIGSEGV and the
/// like, which a blocked mask would not keep from ending the process). A thread begins with the
/// mask of the one that makes it: made meanwhile, it takes no signals.
class signals_blocked {
 public:
  signals_blocked();
  ~signals_blocked() { before_.take_on(); }
  signals_blocked(signals_blocked const&) = delete;
  signals_blocked& operator=(signals_blocked const&) = delete;

 private:
  signal_mask const before_;
};

/// A thread that takes no signals: those are for the threads of the program that uses us. Its name
/// is a literal, of which 15 bytes are shown. Throws std::system_error when there is none to be
/// had. The body throws nothing.
std::thread start_quiet_thread(char const* name, std::function<void()> body);

/// One that nobody joins: it owns all that it touches. False when there is none to be had.
[[nodiscard]] bool start_loose_thread(char const* name, std::function<void()> body);

/// A thread for a user's work, with the mask of the user's thread that asked for it: the thread
/// that makes it is often one of ours, and what the work starts (a process, a thread) inherits the
/// mask. Otherwise as start_quiet_thread.
std::thread start_users_thread(char const* name, signal_mask const& signals,
                               std::function<void()> body);

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
