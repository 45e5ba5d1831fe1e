// Signals as whoever started us left them: blocked and forgotten, or ignored on purpose.
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

/// As nohup does, and `&` of a script: it stays so. Ask before there is a handler for it.
inline bool ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace herdlock::cli
