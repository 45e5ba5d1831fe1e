// What a program's exit status means, and the one error that carries it.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <herdlock/error.hpp>

namespace herdlock::cli {

/// 64 to 76 are those of <sysexits.h>, 126 and 127 those of the shells.
enum class exit_code : int {
  success = 0,
  promise_broken = 1,  ///< of a scene: what is promised did not come about
  not_held = 1,        ///< release: there was nothing to take away
  no_rule = 1,         ///< hot remove: there was none
  usage = 64,
  unavailable = 69,  ///< the store or the origin cannot be used
  internal = 70,
  busy = 75,
  lost = 76,
  not_executable = 126,
  not_found = 127,
};

/// Ends the command: one line on standard error, and the exit status.
class command_error : public std::runtime_error {
 public:
  command_error(exit_code code, std::string const& line) : std::runtime_error(line), code_(code) {}
  exit_code code() const noexcept { return code_; }

 private:
  exit_code code_;
};

/// Throws command_error (usage): what was typed cannot be done.
template <class... Words>
[[noreturn]] void refuse(fmt::format_string<Words...> why, Words&&... words) {
  throw command_error(exit_code::usage, fmt::format(why, std::forward<Words>(words)...));
}

/// 64 for what the caller can put right on the command line, 69 for a store that cannot be used.
inline exit_code exit_code_of(std::error_code const& code) {
  if (code == errc::lost) return exit_code::lost;
  for (errc const of_the_caller :
       {errc::invalid_name, errc::invalid_owner, errc::invalid_ttl, errc::invalid_value,
        errc::invalid_url, errc::unknown_scheme, errc::not_built, errc::not_supported}) {
    if (code == of_the_caller) return exit_code::usage;
  }
  return exit_code::unavailable;
}

/// Throws the failure as a command_error.
[[noreturn]] inline void raise(failure const& why) {
  std::string const line = why.message.empty() ? why.code.message() : why.message;
  throw command_error(exit_code_of(why.code), line);
}

/// Throws what a system call could not do, and why: errno says.
[[noreturn]] inline void raise_errno(char const* what) {
  throw command_error(exit_code::internal, fmt::format("{}: {}", what, std::strerror(errno)));
}

template <class T>
T value_or_raise(result<T> r) {
  if (!r) raise(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

}  // namespace herdlock::cli
