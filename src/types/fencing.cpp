#include <herdlock/fencing.hpp>

#include <algorithm>

namespace herdlock {
inline namespace v0 {
namespace {

constexpr std::size_t max_identifier_bytes = 63;  // PostgreSQL's; MySQL has 64

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool is_identifier(std::string_view text) {
  return !text.empty() && text.size() <= max_identifier_bytes && is_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_digit);
}

bool is_parameter(std::string_view text) {
  if (text == "?" || text == "%s") return true;
  if (text.empty()) return false;
  std::string_view const behind = text.substr(1);
  switch (text.front()) {
    case '?':
      return is_number(behind);
    case '$':
      return is_number(behind) || is_identifier(behind);
    case ':':
    case '@':
      return is_identifier(behind);
    default:
      return false;
  }
}

}  // namespace

sql_fence sql_fence::on(std::string_view column, std::string_view parameter) {
  if (!is_identifier(column)) {
    throw error(make_failure(errc::invalid_name,
                             in_quotes(column) + " is not a column for a fence; give a plain " +
                                 "identifier of letters, digits and '_', such as fence"));
  }
  if (!is_parameter(parameter)) {
    throw error(make_failure(errc::invalid_name,
                             in_quotes(parameter) + " is not a parameter for the fence of column " +
                                 in_quotes(column) + "; write ?, ?1, $1, :name, @name or %s"));
  }
  std::string const name(column);
  std::string const bound(parameter);
  return {name + " = " + bound, "(" + name + " IS NULL OR " + name + " <= " + bound + ")"};
}

}  // namespace v0
}  // namespace herdlock
