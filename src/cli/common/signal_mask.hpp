// The signals that whoever started us had blocked, and forgot to open again.
#pragma once

#include <signal.h>

namespace herdlock::cli {

/// As this process was started. Ask before anything is changed, on the main thread.
inline sigset_t const& inherited_signal_mask() {
  static sigset_t const inherited = [] {
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
    return now;
  }();
  return inherited;
}

/// What a guard and those who use one handle. Call when there are handlers: what was sent meanwhile
/// comes at once.
inline void open_signals() {
  inherited_signal_mask();
  sigset_t handled;
  sigemptyset(&handled);
  for (int const number :
       {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
    sigaddset(&handled, number);
  }
  ::pthread_sigmask(SIG_UNBLOCK, &handled, nullptr);
}

}  // namespace herdlock::cli
