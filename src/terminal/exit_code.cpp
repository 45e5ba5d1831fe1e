#include "terminal/exit_code.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace herdlock::cli {

exit_code exit_code_of(std::error_code const& code) {
  if (code == errc::lost) return exit_code::lost;
  constexpr std::array of_the_caller{errc::invalid_name,  errc::invalid_owner, errc::invalid_ttl,
                                     errc::invalid_value, errc::invalid_url,   errc::unknown_scheme,
                                     errc::not_built,     errc::not_supported};
  auto const is_it = [&](errc one) { return code == one; };
  bool const can_be_put_right = std::any_of(of_the_caller.begin(), of_the_caller.end(), is_it);
  return can_be_put_right ? exit_code::usage : exit_code::unavailable;
}

void raise(failure const& why) {
  std::string const line = why.message.empty() ? why.code.message() : why.message;
  throw command_error(exit_code_of(why.code), line);
}

void raise_errno(char const* what) {
  throw command_error(exit_code::internal, std::string(what) + ": " + std::strerror(errno));
}

}  // namespace herdlock::cli
