#include "common/chosen_store.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <herdlock/url.hpp>

#include "common/arguments.hpp"

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

fs::path default_store_file() { return state_home() / "herdlock" / "herdlock.db"; }

std::string default_store_url() {
  fs::path const file = default_store_file();
  fs::path const folder = file.parent_path();
  std::error_code code;
  fs::create_directories(folder.parent_path(), code);
  if (!code && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    code.assign(errno, std::generic_category());
  }
  if (!code) return sqlite_url(file);
  throw command_error(
      exit_code::unavailable,
      fmt::format("cannot make the default store's folder {}: {}; give --store sqlite:PATH",
                  folder.string(), code.message()));
}

}  // namespace

void add_store_options(CLI::App& app, store_arguments& arguments) {
  add_store_options(app, arguments,
                    "Where the lease lives: sqlite:PATH, redis://…, postgres://…, zk://…\n"
                    "(default: HERDLOCK_STORE, else the file that HERDLOCK_STORE_FILE names, else\n"
                    "herdlock.db in $XDG_STATE_HOME/herdlock, without that variable in\n"
                    "~/.local/state/herdlock: all processes of one user that agree on these)");
}

chosen_store store_of(store_arguments const& arguments) {
  auto named = named_store(arguments);
  if (named.empty()) return {default_store_url(), true};
  return {std::move(named)};
}

chosen_store shared_store_of(store_arguments const& arguments) {
  auto chosen = store_of(arguments);
  if (value_or_raise(store_url::parse(chosen.url)).scheme != "memory") return chosen;
  refuse(
      "memory: lives in one process; name a store that processes share (sqlite:PATH, redis://…)");
}

std::string about_default_store() {
  return fmt::format(
      "no store is named (--store): only processes on this machine that use the same file are "
      "excluded: {}",
      default_store_file().string());
}

}  // namespace herdlock::cli
