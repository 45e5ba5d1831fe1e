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

// Three bytes in UTF-8 (or two: U+061C) that turn the direction of writing; 0: none of them.
unsigned turning_at(std::string_view text) {
  if (text.starts_with("\xD8\x9C")) return 0x061c;
  if (text.size() < 3 || text[0] != '\xE2' || (text[1] != '\x80' && text[1] != '\x81')) return 0;
  unsigned const low = static_cast<unsigned char>(text[2]) & 0x3fU;
  unsigned const point = 0x2000U + (text[1] == '\x81' ? 0x40U : 0U) + low;
  bool const turns = point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
                     (point >= 0x2066 && point <= 0x2069);
  return turns ? point : 0;
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
    } else if (unsigned const point = turning_at(std::string_view(plain).substr(at)); point != 0) {
      safe += fmt::format("\\u{:04x}", point);
      at += point < 0x800 ? 1 : 2;
    } else {
      safe += plain[at];
    }
  }
  return safe;
}

void print_json(nlohmann::ordered_json const& what) {
  fmt::print("{}\n", json_text(what, json_form::indented));
}

}  // namespace herdlock::cli
