#include "common/json_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "terminal/code_point.hpp"

namespace herdlock::cli {
namespace {

// DEL, C1, and what turns the direction of writing; C0 is escaped in all JSON.
bool does_something(unsigned point) {
  return (point >= 0x7f && point <= 0x9f) || point == 0x061c || point == 0x200e ||
         point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

}  // namespace

std::string json_text(nlohmann::ordered_json const& what, json_form form) {
  int const indent = form == json_form::line ? -1 : 2;
  auto const plain =
      what.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size());
  for (std::string_view rest = plain; !rest.empty();) {
    auto const [point, length] = code_point(rest);
    safe += does_something(point) ? fmt::format("\\u{:04x}", point) : std::string(rest, 0, length);
    rest.remove_prefix(length);
  }
  return safe;
}

void print_json(nlohmann::ordered_json const& what) {
  fmt::print("{}\n", json_text(what, json_form::indented));
}

}  // namespace herdlock::cli
