#include "resp/parser.hpp"

#include <algorithm>
#include <charconv>
#include <herdlock/error.hpp>
#include <optional>

namespace herdlock::resp {
namespace {

constexpr std::string_view known_types = "+-:$_#,(=*%~>|!";
constexpr std::size_t end_bytes = 2;     // CR LF
constexpr std::size_t format_bytes = 4;  // of a verbatim text, with its colon

// Without a plus sign, which std::from_chars does not know.
std::string_view without_plus(std::string_view text) {
  bool const signed_twice = text.starts_with("+-");
  return text.starts_with('+') && !signed_twice ? text.substr(1) : text;
}

template <class T>
bool is_whole(std::string_view text) {
  T value{};
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return ec == std::errc() && end == text.data() + text.size();
}

bool is_real(std::string_view text) {
  std::string_view const unsigned_part = text.substr(text.starts_with('-') ? 1 : 0);
  if (unsigned_part == "inf" || unsigned_part == "nan") return true;
  bool const digits = text.find_first_not_of("+-.eE0123456789") == text.npos;
  if (!digits) return false;
  double value = 0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  return end == text.data() + text.size() && ec != std::errc::invalid_argument;
}

bool is_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

bool is_valid(node_kind kind, std::string_view text) {
  switch (kind) {
    case node_kind::number:
      return is_whole<std::int64_t>(text);
    case node_kind::real:
      return is_real(text);
    case node_kind::boolean:
      return text == "t" || text == "f";
    case node_kind::big_number:
      return is_digits(text.substr(text.starts_with('-') ? 1 : 0));
    case node_kind::null:
      return text.empty();
    default:
      return true;
  }
}

std::optional<std::size_t> length_in(std::string_view text) {
  std::size_t value = 0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

node_kind kind_of(char type) {
  switch (type) {
    case '+':
      return node_kind::status;
    case '-':
    case '!':
      return node_kind::error;
    case ':':
      return node_kind::number;
    case '$':
      return node_kind::text;
    case '#':
      return node_kind::boolean;
    case ',':
      return node_kind::real;
    case '(':
      return node_kind::big_number;
    case '=':
      return node_kind::verbatim;
    case '*':
      return node_kind::list;
    case '%':
      return node_kind::map;
    case '~':
      return node_kind::set;
    case '>':
      return node_kind::push;
    case '|':
      return node_kind::attribute;
    default:
      return node_kind::null;
  }
}

// The beginning of what may be long.
std::string shown(std::string_view text) { return in_quotes(text.substr(0, 40)); }

}  // namespace

parser::step parser::next(std::string_view unread) {
  if (!problem_.empty()) return {.is = outcome::broken};
  if (unread.empty()) return {.missing = 1};
  char const type = unread.front();
  if (!accepts(type)) return {.is = outcome::broken};
  auto const end = unread.find('\r', std::max<std::size_t>(scanned_, 1));
  if (std::min(end, unread.size()) > limits_.line_bytes) {
    return broken("a line of more than " + std::to_string(limits_.line_bytes) + " bytes");
  }
  if (end == unread.npos || end + 1 == unread.size()) {
    scanned_ = std::min(end, unread.size());
    return {.missing = end == unread.npos ? end_bytes : 1};
  }
  scanned_ = 0;
  if (unread[end + 1] != '\n') return broken("a carriage return inside of a line");
  std::string_view const content = unread.substr(1, end - 1);
  if (type == '$' || type == '=' || type == '!') return text(type, content, unread);
  return line(type, content, end + end_bytes);
}

bool parser::accepts(char type) {
  if (limits_.speech == grammar::requests) {
    char const expected = open_.empty() ? '*' : '$';
    if (type == expected) return true;
    broken("expected '" + std::string(1, expected) + "', got " + in_quotes({&type, 1}));
  } else if (type == ';' || type == '.') {
    broken("a part of a streamed value, which no server sends");
  } else if (known_types.find(type) == known_types.npos) {
    broken("no value begins with " + in_quotes({&type, 1}));
  } else if (type == '>' && !open_.empty()) {
    broken("a push inside of another value");
  }
  return problem_.empty();
}

parser::step parser::line(char type, std::string_view content, std::size_t consumed) {
  node_kind const kind = kind_of(type);
  switch (kind) {
    case node_kind::list:
      if (content == "-1") return null_of(type, consumed);
      [[fallthrough]];
    case node_kind::map:
    case node_kind::set:
    case node_kind::push:
    case node_kind::attribute:
      return several(kind, content, consumed);
    default:
      return scalar(kind, content, consumed);
  }
}

parser::step parser::scalar(node_kind kind, std::string_view content, std::size_t consumed) {
  bool const numeric =
      kind == node_kind::number || kind == node_kind::real || kind == node_kind::big_number;
  std::string_view const text = numeric ? without_plus(content) : content;
  if (is_valid(kind, text)) return done({.kind = kind, .text = text}, consumed);
  switch (kind) {
    case node_kind::number:
      return broken(shown(content) + " is no number of 64 bits");
    case node_kind::boolean:
      return broken(shown(content) + " is neither t nor f");
    case node_kind::null:
      return broken("a null with a content: " + shown(content));
    default:
      return broken(shown(content) + " is no number");
  }
}

parser::step parser::text(char type, std::string_view content, std::string_view unread) {
  std::size_t const header = 1 + content.size() + end_bytes;
  if (content == "-1" && type == '$') return null_of(type, header);
  if (content == "?") return broken("a streamed text, which no server sends");
  auto const length = length_in(content);
  if (!length) return broken(shown(content) + " is no length of a text");
  if (*length > limits_.text_bytes) {
    return broken("a text of " + std::to_string(*length) + " bytes; " +
                  std::to_string(limits_.text_bytes) + " are the most");
  }
  std::size_t const whole = header + *length + end_bytes;
  if (unread.size() < whole) return {.missing = whole - unread.size()};
  std::string_view const text = unread.substr(header, *length);
  if (unread.substr(header + *length, end_bytes) != "\r\n") {
    return broken("a text that does not end where its length says");
  }
  if (type != '=') return done({.kind = kind_of(type), .text = text}, whole);
  if (text.size() < format_bytes || text[format_bytes - 1] != ':') {
    return broken("a verbatim text without its format: " + shown(text));
  }
  return done({.kind = node_kind::verbatim,
               .text = text.substr(format_bytes),
               .format = text.substr(0, format_bytes - 1)},
              whole);
}

parser::step parser::several(node_kind kind, std::string_view content, std::size_t consumed) {
  if (content == "?") return broken("a streamed list, which no server sends");
  auto const announced = length_in(content);
  if (!announced) return broken(shown(content) + " is no number of elements");
  bool const in_pairs = kind == node_kind::map || kind == node_kind::attribute;
  std::size_t const each = in_pairs ? 2 : 1;
  if (*announced > limits_.elements / each) {
    return broken(shown(content) + " elements; " + std::to_string(limits_.elements) +
                  " are the most");
  }
  if (kind == node_kind::push && *announced == 0) return broken("a push without a kind");
  node const found{.kind = kind, .elements = *announced * each};
  if (found.elements == 0 && kind != node_kind::attribute) return done(found, consumed);
  step const one{.is = outcome::node,
                 .found = found,
                 .consumed = consumed,
                 .aside = attributes_ > 0 || kind == node_kind::attribute};
  if (found.elements == 0) return one;
  if (open_.size() == limits_.depth) {
    return broken("more than " + std::to_string(limits_.depth) + " values in each other");
  }
  open_.push_back({found.elements, kind == node_kind::attribute});
  attributes_ += kind == node_kind::attribute;
  return one;
}

parser::step parser::null_of(char type, std::size_t consumed) {
  bool const in_request = limits_.speech == grammar::requests && type == '$';
  if (in_request) return broken("a request with a null in it");
  return done({.kind = node_kind::null}, consumed);
}

parser::step parser::done(node const& found, std::size_t consumed) {
  bool const aside = attributes_ > 0;
  return {.is = outcome::node,
          .found = found,
          .consumed = consumed,
          .aside = aside,
          .last = ends_all()};
}

// What an attribute describes is still to come when the attribute ends.
bool parser::ends_all() {
  while (!open_.empty()) {
    if (--open_.back().left > 0) return false;
    bool const attribute = open_.back().of_attribute;
    open_.pop_back();
    attributes_ -= attribute;
    if (attribute) return false;
  }
  return true;
}

parser::step parser::broken(std::string what) {
  problem_ = std::move(what);
  return {.is = outcome::broken};
}

}  // namespace herdlock::resp
