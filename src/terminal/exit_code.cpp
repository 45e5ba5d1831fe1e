#include "terminal/exit_code.hpp"

#include <cerrno>
#include <cstring>

namespace herdlock::cli {

exit_code exit_code_of(std::error_code const& code) {
  if (code.category() != category()) return exit_code::unavailable;
  switch (static_cast<errc>(code.value())) {
    case errc::invalid_name:
    case errc::invalid_owner:
    case errc::invalid_ttl:
    case errc::invalid_value:
    case errc::invalid_url:
    case errc::unknown_scheme:
    case errc::not_built:
    case errc::not_supported:
      return exit_code::usage;
    case errc::lost:
      return exit_code::lost;
    default:
      return exit_code::unavailable;
  }
}

void raise(failure const& why) {
  std::string const line = why.message.empty() ? why.code.message() : why.message;
  throw command_error(exit_code_of(why.code), line);
}

void raise_errno(char const* what) {
  throw command_error(exit_code::internal, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace herdlock::cli
