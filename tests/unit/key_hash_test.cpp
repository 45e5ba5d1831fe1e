// The hash of keys: what comes from outside finds no two keys of one hash.
#include "algo/key_hash.hpp"

#include <cstring>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace herdlock_test {
namespace {

using herdlock::detail::key_hash;
using herdlock::detail::key_secret;
using herdlock::detail::key_start;

constexpr std::uint64_t seeds[] = {0, 1, 0x7f32'8a10'4440, 0x1234'5678'9abc'def0, ~0ull};

std::string of_words(std::uint64_t first, std::uint64_t second) {
  std::string key(16, '\0');
  std::memcpy(key.data(), &first, 8);
  std::memcpy(key.data() + 8, &second, 8);
  return key;
}

// Both words of a step are multiplied, each xored with a secret. A key whose words are exchanged,
// by the distance of the secrets, has the hash of the other: under this seed, and no other.
TEST(KeyHash, NoTwoKeysHaveOneHashUnderEverySeed) {
  for (std::uint64_t const known : seeds) {
    std::uint64_t const apart = key_secret(known) ^ key_start(known);
    std::string const one = of_words(1, 2);
    std::string const other = of_words(2 ^ apart, 1 ^ apart);
    int same = 0;
    for (std::uint64_t const seed : seeds) same += key_hash(one, seed) == key_hash(other, seed);
    EXPECT_LE(same, 2) << known;  // 0 and ~0 are alike in this
  }
}

TEST(KeyHash, EveryByteAndTheLengthCount) {
  for (std::uint64_t const seed : seeds) {
    std::set<std::uint64_t> hashes;
    std::size_t keys = 0;
    for (std::size_t size = 0; size < 70; ++size) {
      std::string key(size, 'a');
      hashes.insert(key_hash(key, seed));
      ++keys;
      for (char& byte : key) {
        byte = 'b';
        hashes.insert(key_hash(key, seed));
        byte = 'a';
        ++keys;
      }
    }
    EXPECT_EQ(hashes.size(), keys) << seed;
  }
}

TEST(KeyHash, ASeedChangesAllHashes) {
  for (int i = 0; i < 1000; ++i) {
    std::string const key = "key " + std::to_string(i);
    EXPECT_NE(key_hash(key, 1), key_hash(key, 2));
  }
}

}  // namespace
}  // namespace herdlock_test
