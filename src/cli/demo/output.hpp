// What a demo writes on standard output.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "common/exit_code.hpp"

namespace herdlock::cli {

/// What was printed goes out now. A pipe whose reader has gone, a full disk: nobody waits for the
/// rest, and it throws command_error (internal).
inline void send_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  throw command_error(exit_code::internal,
                      fmt::format("standard output cannot be written: {}", std::strerror(errno)));
}

}  // namespace herdlock::cli
