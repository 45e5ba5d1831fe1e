// Signals that do not come while this lives.
#pragma once

#include <signal.h>

namespace herdlock::cli {

class signals_blocked {
 public:
  /// All of them.
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  /// Of SIGTTOU: a process in the background may be stopped when it touches the terminal.
  explicit signals_blocked(int only) noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, only);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
  }
  ~signals_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(signals_blocked const&) = delete;
  signals_blocked& operator=(signals_blocked const&) = delete;

 private:
  sigset_t before_;
};

}  // namespace herdlock::cli
