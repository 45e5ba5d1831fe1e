#include "common/terminal.hpp"

#include <signal.h>
#include <unistd.h>

namespace herdlock::cli {
namespace {

// A group in the background that calls tcsetpgrp() is stopped by SIGTTOU unless it blocks it.
class sigttou_blocked {
 public:
  sigttou_blocked() noexcept {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGTTOU);
    ::pthread_sigmask(SIG_BLOCK, &one, &before_);
  }
  ~sigttou_blocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

terminal::terminal() : present_(::isatty(STDIN_FILENO) == 1), foreground_(ours()) {}

terminal::~terminal() { take_back(); }

bool terminal::ours() const noexcept {
  return present_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp();
}

void terminal::give_to(pid_t group) const noexcept {
  if (foreground_) ::tcsetpgrp(STDIN_FILENO, group);
}

void terminal::take_back() const noexcept {
  if (!foreground_) return;
  sigttou_blocked const blocked;
  ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
}

}  // namespace herdlock::cli
