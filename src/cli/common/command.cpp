#include "common/command.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <herdlock/url.hpp>
#include <random>

#include "terminal/exit_code.hpp"

extern char** environ;

namespace herdlock::cli {
namespace {

// 0, or why the file cannot be executed.
int why_not(std::string const& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return errno;
  if (S_ISDIR(about.st_mode)) return EISDIR;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// As execvp() does: a file that may not be executed does not end the search, but is the reason
// given when nothing better follows.
std::string find(std::string const& name) {
  if (name.find('/') != std::string::npos) {
    if (int const reason = why_not(name)) raise_exec_failure(name, reason);
    return name;
  }
  char const* const set = std::getenv("PATH");
  std::string_view rest = set ? set : "/usr/local/bin:/usr/bin:/bin";
  int refused = ENOENT;
  while (!name.empty()) {
    std::string_view const folder = rest.substr(0, rest.find(':'));
    std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    int const reason = why_not(path);
    if (reason == 0) return path;
    if (reason == EACCES) refused = EACCES;
    if (folder.size() == rest.size()) break;
    rest.remove_prefix(folder.size() + 1);
  }
  raise_exec_failure(name, refused);
}

// Of whom else? 64 random bits, and no two at a time have one number.
std::string new_mark() {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}", ::getpid(), random(), random());
}

// The store's password is for herdlock, not for what it runs.
bool is_kept_back(std::string_view key, std::string_view value) {
  if (key != "HERDLOCK_STORE" || value.empty()) return false;
  auto const url = store_url::parse(value);
  return !url || url->redacted() != value;
}

std::vector<char*> pointers(std::vector<std::string> const& texts) {
  std::vector<char*> made;
  for (std::string const& text : texts) made.push_back(const_cast<char*>(text.c_str()));
  made.push_back(nullptr);
  return made;
}

}  // namespace

void raise_exec_failure(std::string const& name, int reason) {
  if (reason == ENOENT || reason == ENOTDIR) {
    throw command_error(exit_code::not_found, name + ": command not found");
  }
  throw command_error(exit_code::not_executable,
                      fmt::format("{}: cannot be executed: {}", name, std::strerror(reason)));
}

prepared_command::prepared_command(std::vector<std::string> arguments)
    : arguments_(std::move(arguments)), path_(find(arguments_.front())), mark_(new_mark()) {
  argv_ = pointers(arguments_);
  shell_argv_ = argv_;
  static char shell[] = "sh";
  shell_argv_.front() = const_cast<char*>(path_.c_str());
  shell_argv_.insert(shell_argv_.begin(), shell);
  set_environment({});
}

void prepared_command::set_environment(
    std::vector<std::pair<std::string, std::string>> const& asked) {
  environment_.clear();
  auto added = asked;
  // A command that runs herdlock is of both.
  char const* const outer = std::getenv("HERDLOCK_WORK");
  added.emplace_back("HERDLOCK_WORK", outer && *outer ? outer + (" " + mark_) : mark_);
  for (char** entry = environ; *entry; ++entry) {
    std::string_view const text = *entry;
    std::string_view const key = text.substr(0, text.find('='));
    bool replaced = is_kept_back(key, text.substr(std::min(key.size() + 1, text.size())));
    for (auto const& [name, value] : added) replaced = replaced || name == key;
    if (!replaced) environment_.emplace_back(text);
  }
  for (auto const& [name, value] : added) environment_.push_back(name + "=" + value);
  envp_ = pointers(environment_);
}

void prepared_command::execute() const noexcept {
  ::execve(path_.c_str(), argv_.data(), envp_.data());
  if (errno == ENOEXEC) ::execve("/bin/sh", shell_argv_.data(), envp_.data());
}

}  // namespace herdlock::cli
