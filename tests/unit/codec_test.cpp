#include <gtest/gtest.h>

#include <herdlock/codec.hpp>

namespace herdlock {
namespace {

TEST(Codec, StringsAreStoredByteForByte) {
  std::string const bytes("a\0\xff z", 5);
  auto stored = codec<std::string>::encode(bytes);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(std::get<std::string>(*stored), bytes);
  EXPECT_EQ(*codec<std::string>::decode(*stored), bytes);
}

TEST(Codec, AnEmptyStringIsAValue) {
  auto stored = codec<std::string>::encode("");
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(*codec<std::string>::decode(*stored), "");
}

TEST(Codec, FieldsAreStoredAsAHash) {
  hash_fields const fields{{"name", "kettle"}, {"price", "20"}};
  auto stored = codec<hash_fields>::encode(fields);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(std::get<hash_fields>(*stored), fields);
  EXPECT_EQ(*codec<hash_fields>::decode(*stored), fields);
}

TEST(Codec, AHashWithoutFieldsIsRefusedBecauseAStoreCannotTellItFromAMiss) {
  EXPECT_EQ(codec<hash_fields>::encode({}).error(), errc::invalid_value);
}

TEST(Codec, TheOtherLayoutDoesNotDecode) {
  EXPECT_EQ(codec<std::string>::decode(cache_value(hash_fields{{"a", "b"}})).error(),
            errc::invalid_value);
  EXPECT_EQ(codec<hash_fields>::decode(cache_value(std::string("x"))).error(), errc::invalid_value);
}

}  // namespace
}  // namespace herdlock
