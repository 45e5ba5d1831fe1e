#include "terminal/temp_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {

temp_folder::temp_folder() {
  char const* const base = std::getenv("TMPDIR");
  std::string pattern = std::string(base && *base ? base : "/tmp") + "/herdlock-XXXXXX";
  if (!::mkdtemp(pattern.data())) {
    throw command_error(exit_code::unavailable,
                        fmt::format("cannot make a temporary folder {}: {}; set TMPDIR", pattern,
                                    std::strerror(errno)));
  }
  path_ = pattern;
}

temp_folder::~temp_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string sqlite_url(std::filesystem::path const& file) {
  std::string url = "sqlite:";
  for (char const c : file.string()) {
    if (c == '%' || c == '?' || c == '#') {
      url += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    } else {
      url += c;
    }
  }
  return url;
}

}  // namespace herdlock::cli
