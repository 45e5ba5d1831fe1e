// Options of a program as `--name value`.
#pragma once

#include <functional>
#include <herdlock/types.hpp>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace herdlock_test {

using named_options = std::map<std::string, std::function<void(std::string const&)>>;

// What puts a value where it belongs.
inline auto put_text(std::string& to) {
  return [&to](std::string const& text) { to = text; };
}
inline auto put_ms(herdlock::milliseconds& to) {
  return [&to](std::string const& text) { to = herdlock::milliseconds(std::stoll(text)); };
}
template <class Number>
auto put_number(Number& to) {
  return [&to](std::string const& text) { to = static_cast<Number>(std::stod(text)); };
}

/// Throws for a name that is not known, and for a value that is none.
inline void read_options(std::vector<std::string> const& arguments, named_options const& known) {
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    auto const at = known.find(arguments[i]);
    if (at == known.end()) throw std::runtime_error("no option " + arguments[i]);
    at->second(arguments[i + 1]);
  }
}

}  // namespace herdlock_test
