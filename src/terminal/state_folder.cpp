#include "terminal/state_folder.hpp"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "terminal/exit_code.hpp"
#include "terminal/temp_folder.hpp"

namespace herdlock::cli {
namespace {

namespace fs = std::filesystem;

fs::path state_home() {
  // The XDG base directory specification: a relative path is to be ignored.
  if (char const* state = std::getenv("XDG_STATE_HOME"); state && *state == '/') return state;
  if (char const* home = std::getenv("HOME"); home && *home) {
    return fs::path(home) / ".local" / "state";
  }
  if (passwd const* user = ::getpwuid(::getuid()); user && user->pw_dir) {
    return fs::path(user->pw_dir) / ".local" / "state";
  }
  throw command_error(exit_code::unavailable,
                      "no home folder to keep the default store in; set HOME or give --store");
}

[[noreturn]] void refuse(fs::path const& folder, int reason) {
  throw command_error(
      exit_code::unavailable,
      fmt::format("cannot make the default store's folder {}: {}; give --store sqlite:PATH",
                  folder.string(), std::strerror(reason)));
}

}  // namespace

fs::path default_store_file() { return state_home() / "herdlock" / "herdlock.db"; }

std::string default_store_url() {
  fs::path const file = default_store_file();
  fs::path const folder = file.parent_path();
  std::error_code code;
  fs::create_directories(folder.parent_path(), code);
  if (code) refuse(folder, code.value());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) refuse(folder, errno);
  return sqlite_url(file);
}

}  // namespace herdlock::cli
