// What a program's exit status means, and the one error that carries it.
#pragma once

#include <herdlock/error.hpp>
#include <stdexcept>
#include <string>

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

/// 64 for what the caller can put right on the command line, 69 for a store that cannot be used.
exit_code exit_code_of(std::error_code const& code);

/// Throws the failure as a command_error.
[[noreturn]] void raise(failure const& why);

/// Throws what a system call could not do, and why: errno says.
[[noreturn]] void raise_errno(char const* what);

template <class T>
T value_or_raise(result<T> r) {
  if (!r) raise(r.error());
  if constexpr (!std::is_void_v<T>) return std::move(*r);
}

}  // namespace herdlock::cli
