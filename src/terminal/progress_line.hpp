// One line on a terminal that is written over; nothing elsewhere.
#pragma once

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

  /// Never throws: a terminal that has been hung up shows nothing. (fmt::print would throw.)
  void show(std::string const& text) const noexcept {
    if (!shown_) return;
    std::fputs("\r\033[K", stderr);
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  bool const shown_ = ::isatty(STDERR_FILENO) == 1;
};

}  // namespace herdlock::cli
