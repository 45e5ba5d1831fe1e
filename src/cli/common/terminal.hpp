// Job control: who may read from the terminal.
#pragma once

#include <sys/types.h>

namespace herdlock::cli {

/// Standard input, if it is a terminal that this process's group has; else every call does
/// nothing.
class terminal {
 public:
  terminal();
  /// Takes the terminal back.
  ~terminal();
  terminal(terminal const&) = delete;
  terminal& operator=(terminal const&) = delete;

  /// Standard input is a terminal.
  bool present() const { return present_; }

  /// Makes the group the one in the foreground, if we are. Async-signal-safe; the caller has
  /// SIGTTOU blocked.
  void give_to(pid_t group) const noexcept;

  /// Makes ours the group in the foreground again, if `give_to` gave it away.
  void take_back() const noexcept;

  /// After SIGCONT: the shell may have put us into the foreground (`fg`), or not (`bg`).
  void look_again() noexcept { foreground_ = ours(); }

 private:
  bool ours() const noexcept;

  bool present_ = false;
  bool foreground_ = false;
};

}  // namespace herdlock::cli
