// UTF-8, a character at a time.
#pragma once

#include <string_view>
#include <utility>

namespace herdlock::cli {

/// The code point with which a text begins that is valid UTF-8 and not empty, and its length.
inline std::pair<unsigned, std::size_t> code_point(std::string_view text) {
  auto const byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  if (byte(0) < 0x80) return {byte(0), 1};
  std::size_t const length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (text.size() < length) return {'?', text.size()};
  unsigned value = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) value = value << 6 | (byte(i) & 0x3fU);
  return {value, length};
}

}  // namespace herdlock::cli
