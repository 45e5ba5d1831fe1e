#include "common/json_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace herdlock::cli {
namespace {

// Two bytes in UTF-8: C2, and the character's own number.
bool is_c1(std::string const& text, std::size_t at) {
  if (text[at] != '\xC2' || at + 1 == text.size()) return false;
  auto const second = static_cast<unsigned char>(text[at + 1]);
  return second >= 0x80 && second <= 0x9F;
}

}  // namespace

std::string json_text(nlohmann::ordered_json const& what, json_form form) {
  int const indent = form == json_form::line ? -1 : 2;
  auto const plain =
      what.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (std::size_t at = 0; at < plain.size(); ++at) {
    if (plain[at] == '\x7F') {
      safe += "\\u007f";
    } else if (is_c1(plain, at)) {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned char>(plain[++at]));
    } else {
      safe += plain[at];
    }
  }
  return safe;
}

}  // namespace herdlock::cli
