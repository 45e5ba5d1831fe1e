// What whoever started us has set to be ignored, as nohup does, stays so.
#pragma once

#include <signal.h>

namespace herdlock::cli {

/// Ask before there is a handler for it.
inline bool ignored(int number) {
  struct sigaction action {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace herdlock::cli
