// The protocol of Redis, written: requests, and the answers to them in either version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace herdlock::resp {

/// Appends a request.
void write_request(std::string& to, std::span<std::string_view const> words);

enum class version { two = 2, three = 3 };

/// Appends values. What version 2 does not know becomes what it has for it: a map is a list of
/// names and values, true is 1, a real number is a text.
class value_writer {
 public:
  value_writer(std::string& to, version spoken) : to_(to), three_(spoken == version::three) {}

  /// In a line of its own; line breaks in it become spaces.
  void status(std::string_view line);
  void error(std::string_view line);
  void text(std::string_view bytes);
  void verbatim(std::string_view format, std::string_view text);  ///< a format of three letters
  void number(std::int64_t value);
  void real(double value);
  void big_number(std::string_view digits);
  void yes();
  void no();
  void null();
  void null_list();  ///< version 2 has one of its own
  /// So many elements, or pairs of a map, are written next.
  void list(std::size_t elements);
  void set(std::size_t elements);
  void push(std::size_t elements);
  void map(std::size_t pairs);

 private:
  void line(char type, std::string_view content);

  std::string& to_;
  bool three_;
};

}  // namespace herdlock::resp
