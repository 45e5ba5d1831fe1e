#include "stores/sqlite/field_encoding.hpp"

namespace herdlock::sqlite {
namespace {

constexpr std::size_t length_bytes = 4;

void append(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < length_bytes; ++i) {
    out += static_cast<char>((text.size() >> (8 * i)) & 0xff);
  }
  out += text;
}

std::optional<std::string> take(std::string_view& bytes) {
  if (bytes.size() < length_bytes) return std::nullopt;
  std::size_t size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    size |= static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  bytes.remove_prefix(length_bytes);
  if (bytes.size() < size) return std::nullopt;
  std::string text(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return text;
}

}  // namespace

std::string encode_fields(hash_fields const& fields) {
  std::string out;
  for (auto const& [name, content] : fields) {
    append(out, name);
    append(out, content);
  }
  return out;
}

std::optional<hash_fields> decode_fields(std::string_view bytes) {
  hash_fields fields;
  while (!bytes.empty()) {
    auto name = take(bytes);
    auto content = name ? take(bytes) : std::nullopt;
    if (!content) return std::nullopt;
    fields.emplace_back(std::move(*name), std::move(*content));
  }
  return fields;
}

}  // namespace herdlock::sqlite
