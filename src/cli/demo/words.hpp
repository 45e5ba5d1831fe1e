// How demos say numbers.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace herdlock::cli {

/// `1,234,567`
inline std::string with_commas(std::int64_t number) {
  std::string text = std::to_string(number);
  int const first_digit = number < 0 ? 1 : 0;
  for (auto at = static_cast<int>(text.size()) - 3; at > first_digit; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

/// `1 process`, `2 processes`
template <class Number>
std::string counted(Number count, char const* one, char const* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

/// For programs: milliseconds without the digits that mean nothing.
inline double to_micros(double ms) { return std::round(ms * 1e3) / 1e3; }

}  // namespace herdlock::cli
