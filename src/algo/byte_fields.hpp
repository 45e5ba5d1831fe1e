// Numbers and texts in a text of bytes: what processes send each other. Numbers are big-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace herdlock::algo {

void add_bytes_of(std::string& out, std::uint64_t value, std::size_t bytes);

/// Takes numbers and texts off the front of a text; nothing more once there was too little.
class byte_reader {
 public:
  explicit byte_reader(std::string_view text) : rest_(text) {}

  std::string_view text(std::size_t bytes);
  std::uint64_t number(std::size_t bytes);
  std::string_view rest() const noexcept { return good_ ? rest_ : std::string_view(); }
  bool good() const noexcept { return good_; }
  bool at_end() const noexcept { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

}  // namespace herdlock::algo
