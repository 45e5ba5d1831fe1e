#include "algo/byte_fields.hpp"

namespace herdlock::algo {

void add_bytes_of(std::string& out, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) {
    out += static_cast<char>(static_cast<unsigned char>(value >> (8 * i)));
  }
}

std::string_view byte_reader::text(std::size_t bytes) {
  if (rest_.size() < bytes) good_ = false;
  if (!good_) return {};
  auto const taken = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  return taken;
}

std::uint64_t byte_reader::number(std::size_t bytes) {
  std::uint64_t value = 0;
  for (char const byte : text(bytes)) value = (value << 8) | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace herdlock::algo
