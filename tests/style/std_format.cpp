// Only compiled, by a compiler whose library has std::format.
#include <version>

#ifndef __cpp_lib_format
#error "this library has no std::format: the check says nothing"
#endif

#include <format>
#include <herdlock/formatters.hpp>
#include <string>

std::string told(herdlock::resource const& name, herdlock::owner_token const& owner,
                 herdlock::fencing_token fencing, herdlock::failure const& why) {
  return std::format("{:>10} {} {:>3} {}", name, owner, fencing, why);
}
