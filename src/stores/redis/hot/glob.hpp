// Texts in the patterns of SCAN and PUBSUB.
#pragma once

#include <string>
#include <string_view>

namespace herdlock::redis {

/// A pattern that matches this text, and nothing else.
inline std::string escape_glob(std::string_view text) {
  std::string pattern;
  for (char const c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

}  // namespace herdlock::redis
