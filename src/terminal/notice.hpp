// What herdlock says on standard error while a command depends on it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>
#include <herdlock/printable.hpp>

#include "terminal/signals_blocked.hpp"
#include "terminal/unique_fd.hpp"

namespace herdlock::cli {
namespace detail {

// O_NONBLOCK belongs to the open file, which the command and the shell share with us. The same
// pipe or terminal opened again has a flag of its own.
inline void write_elsewhere(std::string const& text) noexcept {
  unique_fd const again(
      ::open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_APPEND));
  int to = again.get();
  if (to < 0) {
    // Another user's pipe, or no /proc: a pipe that is writable takes PIPE_BUF bytes at once.
    pollfd asked{STDERR_FILENO, POLLOUT, 0};
    if (::poll(&asked, 1, 0) != 1 || asked.revents != POLLOUT) return;
    to = STDERR_FILENO;
  }
  [[maybe_unused]] auto const written = ::write(to, text.data(), text.size());
}

inline void write_at_once(std::string const& text) noexcept {
  signals_blocked const passing(SIGTTOU);  // `stty tostop`
  struct stat about {};
  if (::fstat(STDERR_FILENO, &about) != 0) return;
  if (S_ISREG(about.st_mode)) {
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), text.size());
  } else if (S_ISSOCK(about.st_mode)) {
    ::send(STDERR_FILENO, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } else {
    write_elsewhere(text);
  }
}

}  // namespace detail

/// Makes sure that descriptors 0 to 2 are open, so that no store's file or socket becomes
/// "standard error". To be called before anything is opened.
inline void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    // The lowest free number is the one that is missing.
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

/// The same, and writing to a closed pipe is an error, not the end of this process. The command
/// gets SIGPIPE as we were given it.
inline void prepare_standard_streams() {
  open_standard_streams();
  struct sigaction action {};
  if (::sigaction(SIGPIPE, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) return;
  // A handler, unlike SIG_IGN, is not handed on to the command.
  action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGPIPE, &action, nullptr);
}

/// Writes `herdlock: LINE`, which may hold what others have written into a store. Best effort:
/// never waits and never throws. What a full pipe or a stopped terminal does not take at once is
/// dropped.
inline void notice(std::string const& line) noexcept {
  try {
    detail::write_at_once("herdlock: " + printable(line) + "\n");
  } catch (std::exception const&) {  // no memory for the line
  }
}

}  // namespace herdlock::cli
