#include "stores/redis/scripts/script.hpp"

#include <openssl/evp.h>

#include <array>

namespace herdlock::redis {
namespace {

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[digest[i] >> 4];
    hex += digits[digest[i] & 15];
  }
  return hex;
}

}  // namespace

script::script(std::string_view lua, std::string_view keys)
    : source(lua), key_count(keys), sha(sha1_hex(lua)) {}

}  // namespace herdlock::redis
