#include "common/terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "terminal/signals_blocked.hpp"

namespace herdlock::cli {

terminal::terminal(job_control wanted)
    : file_(wanted == job_control::none ? -1 : ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)),
      foreground_(ours()) {}

terminal::~terminal() { take_back(); }

bool terminal::ours() const noexcept {
  return present() && ::tcgetpgrp(file_.get()) == ::getpgrp();
}

void terminal::give_to(pid_t group) const noexcept {
  if (foreground_) ::tcsetpgrp(file_.get(), group);
}

void terminal::take_back() const noexcept {
  if (!foreground_) return;
  signals_blocked const blocked(SIGTTOU);
  ::tcsetpgrp(file_.get(), ::getpgrp());
}

}  // namespace herdlock::cli
