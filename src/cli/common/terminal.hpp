// Job control: who may read from the terminal.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "terminal/signals_blocked.hpp"
#include "terminal/unique_fd.hpp"

namespace herdlock::cli {

/// Whether the command gets the terminal when we have it.
enum class job_control { given, none };

/// The terminal of this session (/dev/tty), be it our standard input or not: passwords are asked
/// for there. If there is none, or another group has it, or it is not to be given, every call does
/// nothing.
class terminal {
 public:
  explicit terminal(job_control wanted)
      : file_(wanted == job_control::none ? -1 : ::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)),
        foreground_(ours()) {}
  /// Takes the terminal back.
  ~terminal() { take_back(); }
  terminal(terminal const&) = delete;
  terminal& operator=(terminal const&) = delete;

  bool present() const { return file_.get() >= 0; }

  /// Makes the group the one in the foreground, if we are. Async-signal-safe; the caller has
  /// SIGTTOU blocked.
  void give_to(pid_t group) const noexcept {
    if (foreground_) ::tcsetpgrp(file_.get(), group);
  }

  /// Makes ours the group in the foreground again, if `give_to` gave it away.
  void take_back() const noexcept {
    if (!foreground_) return;
    signals_blocked const blocked(SIGTTOU);
    ::tcsetpgrp(file_.get(), ::getpgrp());
  }

  /// After SIGCONT: the shell may have put us into the foreground (`fg`), or not (`bg`).
  void look_again() noexcept { foreground_ = ours(); }

 private:
  bool ours() const noexcept { return present() && ::tcgetpgrp(file_.get()) == ::getpgrp(); }

  unique_fd file_;
  bool foreground_ = false;
};

}  // namespace herdlock::cli
