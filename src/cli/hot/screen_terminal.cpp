#include "hot/screen_terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "terminal/exit_code.hpp"
#include "terminal/signals_blocked.hpp"

namespace herdlock::cli {
namespace {

// A screen of its own, without cursor, where a line that is too long is cut.
constexpr std::string_view to_enter = "\033[?1049h\033[?25l\033[?7l";
// ESC ends whatever was half written.
constexpr std::string_view to_leave = "\033[?7h\033[?25h\033[?1049l";
constexpr int patience_ms = 200;

int opened_again() {
  constexpr int flags = O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int const file = ::open("/proc/self/fd/1", flags);
  // Another user's, or no /proc: the terminal of the session is most likely the same one.
  return file >= 0 ? file : ::open("/dev/tty", flags);
}

}  // namespace

screen_terminal::screen_terminal() : file_(opened_again()) {
  if (file_.get() < 0) raise_errno("the terminal cannot be opened (--json prints lines)");
}

bool screen_terminal::enter() {
  if (!is_ours()) return false;
  if (!entered_ && ::tcgetattr(file_.get(), &before_) != 0) raise_errno("the terminal");
  termios raw = before_;
  // Ctrl-C and Ctrl-Z stay signals; Ctrl-S must not hold up the screen.
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(file_.get(), TCSANOW, &raw) != 0) raise_errno("the terminal");
  entered_ = true;
  put(to_enter);
  return true;
}

void screen_terminal::leave() noexcept {
  if (!entered_) return;
  entered_ = false;
  signals_blocked const passing(SIGTTOU);
  put(to_leave);
  // Stopped by SIGSTOP, we could not leave before a shell took the terminal: it has the modes of
  // its own, but nobody else brings back its screen.
  if (is_ours()) ::tcsetattr(file_.get(), TCSANOW, &before_);
}

// -1: it is not the terminal of our session, where there is no foreground.
bool screen_terminal::is_ours() const noexcept {
  pid_t const foreground = ::tcgetpgrp(file_.get());
  return foreground == -1 || foreground == ::getpgrp();
}

screen_size screen_terminal::size() const {
  winsize now{};
  if (::ioctl(file_.get(), TIOCGWINSZ, &now) != 0 || now.ws_col == 0 || now.ws_row == 0) return {};
  return {.columns = now.ws_col, .rows = now.ws_row};
}

void screen_terminal::put(std::string_view text) const noexcept {
  while (!text.empty()) {
    ssize_t const size = ::write(file_.get(), text.data(), text.size());
    if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
    if (size > 0 || (size < 0 && errno == EINTR)) continue;
    if (size < 0 && errno != EAGAIN) return;
    pollfd asked{file_.get(), POLLOUT, 0};
    if (::poll(&asked, 1, patience_ms) != 1 || asked.revents != POLLOUT) return;
  }
}

}  // namespace herdlock::cli
