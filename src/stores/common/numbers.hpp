// Numbers in texts.
#pragma once

#include <charconv>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace herdlock {

/// The whole text as a number; nothing when it is none.
template <class T>
std::optional<T> whole_number(std::string_view text, int base = 10) {
  T value{};
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// In hex, without leading zeros.
template <class T>
std::string in_hex(T value) {
  char text[16];
  return {text, std::to_chars(text, text + sizeof text, value, 16).ptr};
}

/// For messages.
inline std::string in_ms(std::chrono::milliseconds span) {
  return std::to_string(span.count()) + " ms";
}

/// Takes a number and the mark behind it off the front; nothing, and the text stays, when they are
/// not there.
template <class T>
std::optional<T> take_number(std::string_view& text, char end_mark, int base = 10) {
  T value{};
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  auto const digits = static_cast<std::size_t>(end - text.data());
  if (ec != std::errc() || digits >= text.size() || *end != end_mark) return std::nullopt;
  text.remove_prefix(digits + 1);
  return value;
}

}  // namespace herdlock
