#include "resp/writer.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace herdlock::resp {
namespace {

constexpr std::string_view end_of_line = "\r\n";

template <class T>
void write_header(std::string& to, char type, T value) {
  std::array<char, 24> space;
  space[0] = type;
  char* const last = std::to_chars(space.data() + 1, space.data() + space.size() - 2, value).ptr;
  last[0] = '\r';
  last[1] = '\n';
  to.append(space.data(), static_cast<std::size_t>(last + 2 - space.data()));
}

void write_bytes(std::string& to, char type, std::string_view bytes) {
  write_header(to, type, bytes.size());
  to.append(bytes);
  to.append(end_of_line);
}

}  // namespace

void write_request(std::string& to, std::span<std::string_view const> words) {
  write_header(to, '*', words.size());
  for (auto const word : words) write_bytes(to, '$', word);
}

void value_writer::line(char type, std::string_view content) {
  to_.push_back(type);
  for (char const each : content) to_.push_back(each == '\r' || each == '\n' ? ' ' : each);
  to_.append(end_of_line);
}

void value_writer::status(std::string_view text) { line('+', text); }
void value_writer::error(std::string_view text) { line('-', text); }
void value_writer::text(std::string_view bytes) { write_bytes(to_, '$', bytes); }
void value_writer::number(std::int64_t value) { write_header(to_, ':', value); }

void value_writer::verbatim(std::string_view format, std::string_view bytes) {
  if (!three_) return text(bytes);
  write_bytes(to_, '=', std::string(format).append(":").append(bytes));
}

void value_writer::real(double value) {
  std::array<char, 32> space;
  auto const end = std::to_chars(space.data(), space.data() + space.size(), value).ptr;
  std::string_view digits(space.data(), static_cast<std::size_t>(end - space.data()));
  if (std::isnan(value)) digits = "nan";
  if (three_) return line(',', digits);
  text(digits);
}

void value_writer::big_number(std::string_view digits) {
  if (three_) return line('(', digits);
  text(digits);
}

void value_writer::yes() {
  if (three_) return line('#', "t");
  number(1);
}

void value_writer::no() {
  if (three_) return line('#', "f");
  number(0);
}

void value_writer::null() { to_.append(three_ ? "_\r\n" : "$-1\r\n"); }
void value_writer::null_list() { to_.append(three_ ? "_\r\n" : "*-1\r\n"); }

void value_writer::list(std::size_t elements) { write_header(to_, '*', elements); }
void value_writer::set(std::size_t elements) { write_header(to_, three_ ? '~' : '*', elements); }
void value_writer::push(std::size_t elements) { write_header(to_, three_ ? '>' : '*', elements); }

void value_writer::map(std::size_t pairs) {
  if (three_) return write_header(to_, '%', pairs);
  write_header(to_, '*', 2 * pairs);
}

}  // namespace herdlock::resp
