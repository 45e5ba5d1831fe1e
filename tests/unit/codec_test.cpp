#include <gtest/gtest.h>

#include <boost/describe/class.hpp>
#include <herdlock/codec.hpp>
#include <herdlock/codec_described.hpp>
#include <limits>

namespace herdlock {
namespace {

struct thing {
  int id = 0;
};
BOOST_DESCRIBE_STRUCT(thing, (), (id))

struct product : thing {
  std::string name;
  double price = 0;
  bool sold = false;
};
BOOST_DESCRIBE_STRUCT(product, (thing), (name, price, sold))

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

TEST(Codec, BytesAreStoredAsTheyAre) {
  std::vector<std::byte> const bytes{std::byte{0}, std::byte{255}, std::byte{'a'}};
  auto const stored = codec<std::vector<std::byte>>::encode(bytes).value();
  EXPECT_EQ(std::get<std::string>(stored), std::string("\0\xff"
                                                       "a",
                                                       3));
  EXPECT_EQ(codec<std::vector<std::byte>>::decode(stored).value(), bytes);
}

template <class T>
void comes_back(T number, std::string const& text) {
  auto const stored = codec<T>::encode(number).value();
  EXPECT_EQ(std::get<std::string>(stored), text);
  EXPECT_EQ(codec<T>::decode(stored).value(), number);
}

TEST(Codec, NumbersAreDecimalText) {
  comes_back(-42, "-42");
  comes_back(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
  comes_back(std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
  comes_back(0.1, "0.1");
  comes_back(std::numeric_limits<double>::infinity(), "inf");
  comes_back(true, "1");
  comes_back(false, "0");
  comes_back(std::uint8_t{200}, "200");
}

TEST(Codec, WhatIsNoNumberOfThisTypeDoesNotDecode) {
  auto const refused = [](auto type, std::string const& text) {
    using number = decltype(type);
    return codec<number>::decode(cache_value(text)).has_error();
  };
  EXPECT_TRUE(refused(int{}, ""));
  EXPECT_TRUE(refused(int{}, "12 "));
  EXPECT_TRUE(refused(int{}, "2147483648")) << "one over the limit";
  EXPECT_TRUE(refused(unsigned{}, "-1"));
  EXPECT_TRUE(refused(double{}, "1,5"));
  EXPECT_TRUE(refused(bool{}, "2"));
  EXPECT_TRUE(codec<int>::decode(cache_value(hash_fields{{"a", "b"}})).has_error());
}

TEST(Codec, ADescribedStructIsAHash) {
  product kettle;
  kettle.id = 42;
  kettle.name = "kettle";
  kettle.price = 19.5;
  auto const stored = codec<product>::encode(kettle).value();
  EXPECT_EQ(std::get<hash_fields>(stored),
            (hash_fields{{"id", "42"}, {"name", "kettle"}, {"price", "19.5"}, {"sold", "0"}}));
  auto const back = codec<product>::decode(stored).value();
  EXPECT_EQ(back.id, 42);
  EXPECT_EQ(back.name, "kettle");
  EXPECT_EQ(back.price, 19.5);
}

TEST(Codec, ADescribedStructPassesOverWhatItDoesNotKnowAndMissesWhatItNeeds) {
  hash_fields const more{{"color", "red"}, {"id", "1"}};
  EXPECT_EQ(codec<thing>::decode(cache_value(more)).value().id, 1);
  auto const lacks = codec<thing>::decode(cache_value(hash_fields{{"color", "red"}}));
  EXPECT_NE(lacks.error().message.find("no field 'id'"), std::string::npos);
  auto const wrong = codec<thing>::decode(cache_value(hash_fields{{"id", "one"}}));
  EXPECT_NE(wrong.error().message.find("field 'id'"), std::string::npos);
}

static_assert(!codec_for<codec<char>, char>, "a character is no number");

}  // namespace
}  // namespace herdlock
