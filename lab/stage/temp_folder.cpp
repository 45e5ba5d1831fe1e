#include "stage/temp_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "terminal/exit_code.hpp"

namespace herdlock::lab {

temp_folder::temp_folder() {
  char const* const base = std::getenv("TMPDIR");
  std::string pattern = std::string(base && *base ? base : "/tmp") + "/herdlock-XXXXXX";
  if (!::mkdtemp(pattern.data())) {
    throw cli::command_error(cli::exit_code::unavailable,
                             fmt::format("cannot make a temporary folder {}: {}; set TMPDIR",
                                         pattern, std::strerror(errno)));
  }
  path_ = pattern;
}

temp_folder::~temp_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace herdlock::lab
