// A process in the background may be stopped when it touches the terminal; not while this lives.
#pragma once

#include <signal.h>

namespace herdlock::cli {

class sigttou_blocked {
 public:
  sigttou_blocked() noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
  }
  ~sigttou_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  sigttou_blocked(sigttou_blocked const&) = delete;
  sigttou_blocked& operator=(sigttou_blocked const&) = delete;

 private:
  sigset_t before_;
};

}  // namespace herdlock::cli
