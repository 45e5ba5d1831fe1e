#include "stores/etcd/encoding.hpp"

#include <openssl/evp.h>

#include <array>

#include "stores/common/numbers.hpp"

namespace herdlock::etcd {
namespace {

constexpr std::string_view value_mark = "herdlock ";
constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with the NUL that OpenSSL writes
  auto const* const from = reinterpret_cast<unsigned char const*>(bytes.data());
  auto* const to = reinterpret_cast<unsigned char*>(text.data());
  EVP_EncodeBlock(to, from, static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (char const c : text) {
    auto const digit = digits.find(c);
    if (digit == digits.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 255);
  }
  return bytes;
}

// Neither text holds a NUL, so that no two pairs run together.
std::int64_t lease_id(resource const& name, owner_token const& owner, std::int64_t round) {
  std::string text = name.str();
  text += '\0';
  text += owner.str();
  text += '\0';
  text += std::to_string(round);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) id = id << 8 | digest[i];
  return static_cast<std::int64_t>((id >> 1) | 1);
}

std::string key_prefix(resource const& name) { return name.str() + "/"; }

std::string key_of(resource const& name, std::int64_t lease) {
  return key_prefix(name) + in_hex(lease);
}

std::string to_value(holder_note const& note) {
  std::string_view const mark = note.left ? left_mark : value_mark;
  return std::string(mark) + std::to_string(note.ttl.count()) + " " + note.label;
}

holder_note from_value(std::string_view value) {
  holder_note foreign{milliseconds{0}, "another client"};
  if (!value.starts_with(value_mark)) return foreign;
  bool const left = value.starts_with(left_mark);
  value.remove_prefix(left ? left_mark.size() : value_mark.size());
  auto const ttl = take_number<milliseconds::rep>(value, ' ');
  if (!ttl) return foreign;
  return {milliseconds{*ttl}, std::string(value), left};
}

}  // namespace herdlock::etcd
