// Whether what was printed gets anywhere.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstdio>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {

/// Throws command_error when standard output does not take what was printed: a full disk, a pipe
/// whose reader has gone.
inline void flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  std::string text = "standard output cannot be written";
  if (errno != 0) text += std::string(": ") + std::strerror(errno);
  throw command_error(exit_code::internal, text);
}

/// A pipe, socket or terminal at whose other end nobody is any more.
inline bool output_has_no_reader() {
  pollfd asked{STDOUT_FILENO, 0, 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLERR | POLLHUP)) != 0;
}

}  // namespace herdlock::cli
