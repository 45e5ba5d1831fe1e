#include "stores/redis/scripts/script.hpp"

#include <openssl/evp.h>

#include <type_traits>

namespace herdlock::redis {
namespace {

std::array<char, 40> sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha1(), nullptr);
  constexpr char digits[] = "0123456789abcdef";
  std::array<char, 40> hex{};
  for (std::size_t i = 0; i < hex.size(); ++i) {
    hex[i] = digits[i % 2 == 0 ? digest[i / 2] >> 4 : digest[i / 2] & 15];
  }
  return hex;
}

}  // namespace

static_assert(std::is_trivially_destructible_v<script>);

script::script(std::string_view lua, std::string_view keys)
    : source(lua), key_count(keys), sha_(sha1_hex(lua)) {}

}  // namespace herdlock::redis
