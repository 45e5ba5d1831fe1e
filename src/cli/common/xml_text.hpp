// Text in a picture.
#pragma once

#include <string>
#include <string_view>

namespace herdlock::cli {

/// As it stands between two tags of XML.
inline std::string xml_text(std::string_view text) {
  std::string out;
  for (char const c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace herdlock::cli
