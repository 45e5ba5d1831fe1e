// A fast hash of short byte strings, after wyhash (Wang Yi, public domain): 16 bytes a step, folded
// by a 64×64→128 bit multiplication. Seeded, so that a table's order can't be guessed from outside.
// Keys are always compared as well; a collision costs time, never correctness.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace herdlock {
inline namespace v0 {
namespace detail {

inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
  __extension__ typedef unsigned __int128 wide;
  wide product = static_cast<wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <class Word>
std::uint64_t read_word(char const* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// A factor of zero swallows the other one: keys with this word in the right place have one hash. So
// it is not the same everywhere, and nobody can send such keys from outside.
inline std::uint64_t key_secret(std::uint64_t seed) noexcept {
  return seed ^ 0xe7037ed1a0b428dbull;
}

// The two words of a step are multiplied, each with a secret: were these as far apart under every
// seed, exchanging the words by that distance would give a second key of the same hash.
inline std::uint64_t key_start(std::uint64_t seed) noexcept {
  return std::rotl(seed, 32) ^ 0xa0761d6478bd642full;
}

inline std::uint64_t key_hash(std::string_view key, std::uint64_t seed) noexcept {
  std::uint64_t const k1 = key_secret(seed);
  char const* at = key.data();
  std::size_t left = key.size();
  std::uint64_t hash = key_start(seed);
  for (; left > 16; at += 16, left -= 16) {
    hash = fold(read_word<std::uint64_t>(at) ^ k1, read_word<std::uint64_t>(at + 8) ^ hash);
  }
  // The rest in two words, which overlap unless it has exactly twice their size.
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  if (left >= 8) {
    a = read_word<std::uint64_t>(at);
    b = read_word<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    a = read_word<std::uint32_t>(at);
    b = read_word<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    a = static_cast<unsigned char>(at[0]);
    b = static_cast<unsigned char>(at[left / 2]) * 256u + static_cast<unsigned char>(at[left - 1]);
  }
  return fold(k1 ^ key.size(), fold(a ^ k1, b ^ hash));
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
