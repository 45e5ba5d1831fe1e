// The terminal that standard output is, as one screen: keys come at once and are not shown.
#pragma once

#include <termios.h>

#include "hot/hot_table.hpp"
#include "terminal/unique_fd.hpp"

namespace herdlock::cli {

/// Opened anew, so that O_NONBLOCK, which belongs to the open file, is not the shell's, too. As it
/// was when this goes.
class screen_terminal {
 public:
  /// Changes nothing yet. Throws command_error.
  screen_terminal();
  ~screen_terminal() { leave(); }

  /// Takes the screen, also again: after SIGCONT a shell may have set the terminal in its own way.
  /// False, and nothing is done, in the background.
  [[nodiscard]] bool enter();
  bool entered() const { return entered_; }
  /// Restores it; in the background only what it shows, not its modes, which are somebody else's
  /// by then. Waits for a terminal that takes nothing for a moment only.
  void leave() noexcept;

  /// To read and to write; never blocks.
  int file() const { return file_.get(); }
  screen_size size() const;

 private:
  bool is_ours() const noexcept;
  void put(std::string_view text) const noexcept;

  unique_fd file_;
  termios before_{};
  bool entered_ = false;
};

}  // namespace herdlock::cli
