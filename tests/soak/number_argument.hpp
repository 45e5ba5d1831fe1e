// Numbers among a soak's arguments.
#pragma once

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <system_error>

namespace herdlock_test {

/// Throws std::runtime_error, with a sentence for whoever typed it.
inline std::uint64_t number_argument(std::string const& name, std::string const& text,
                                     std::uint64_t most) {
  std::uint64_t value = 0;
  auto const* const end = text.data() + text.size();
  auto const [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem == std::errc() && stop == end && value <= most) return value;
  throw std::runtime_error(name + " takes a number from 0 to " + std::to_string(most) + ", not '" +
                           text + "'; see --help");
}

}  // namespace herdlock_test
