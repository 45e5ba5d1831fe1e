// One line on a terminal that is written over; nothing elsewhere.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace herdlock::cli {

class progress_line {
 public:
  progress_line() = default;
  progress_line(progress_line const&) = delete;
  progress_line& operator=(progress_line const&) = delete;
  ~progress_line() { show({}); }

  void show(std::string const& text) {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
  }

 private:
  bool const shown_ = ::isatty(STDERR_FILENO) == 1;
};

}  // namespace herdlock::cli
