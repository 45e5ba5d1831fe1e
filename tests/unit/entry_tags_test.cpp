// The generations of tags in an entry's header: what is written is read, anything else is a miss.
#include "algo/entry_tags.hpp"

#include <gtest/gtest.h>

#include <random>

#include "algo/entry_header.hpp"

namespace herdlock::algo {
namespace {

using std::string;

std::vector<entry_tag> some_tags() {
  return {{"color:red", {1'764'000'000'123'456, 7}}, {"shop", {UINT64_MAX, 0}}};
}

TEST(EntryTags, WhatIsWrittenIsRead) {
  EXPECT_EQ(decode_tags(encode_tags(some_tags())), some_tags());
  EXPECT_EQ(encode_tags({}), "");
  EXPECT_EQ(decode_tags(""), std::vector<entry_tag>{});
}

// The bytes as they are in the store: they are never to change.
TEST(EntryTags, TheBytesStayAsTheyAre) {
  EXPECT_EQ(encode_tags({{"ab", {0x0102030405060708, 9}}}),
            string("t\0\x14\0\2ab\1\2\3\4\5\6\7\10\0\0\0\0\0\0\0\11", 23));
  EXPECT_EQ(encode_generations({1, 2}), string("\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2", 16));
}

TEST(EntryTags, AsManyAndAsLongOnesAsAreAllowedFitIntoAHeader) {
  std::vector<entry_tag> tags;
  tags.push_back({string(tag_of_all), {7, 7}});
  while (tags.size() < most_entry_tags) {
    auto const i = tags.size();
    tags.push_back({string(limits::max_name_bytes, char('a' + i)), {i, i}});
  }
  auto const bytes = encode_tags(tags);
  EXPECT_LE(bytes.size(), most_extensions);
  EXPECT_EQ(decode_tags(bytes), tags);
  tags.push_back({"one more", {1, 1}});
  EXPECT_EQ(decode_tags(encode_tags(tags)), std::nullopt);
}

TEST(EntryTags, AnExtensionThatIsNotKnownIsSkipped) {
  string const other("x\0\3abc", 6);
  EXPECT_EQ(decode_tags(other + encode_tags(some_tags()) + other), some_tags());
}

TEST(EntryTags, WhatIsCutOrDamagedIsNotRead) {
  auto const whole = encode_tags(some_tags());
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(decode_tags(whole.substr(0, bytes)), std::nullopt) << bytes;
  }
  EXPECT_EQ(decode_tags(whole + "x"), std::nullopt);
  auto longer_name = whole;
  longer_name[4] = '\x7f';
  EXPECT_EQ(decode_tags(longer_name), std::nullopt);
}

TEST(EntryTags, NoBytesMakeItReadBeyondItsEnd) {
  std::mt19937 random(7);
  auto const whole = encode_tags(some_tags());
  for (int i = 0; i < 100'000; ++i) {
    string bytes = whole.substr(0, random() % (whole.size() + 1));
    for (auto changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    auto const tags = decode_tags(bytes);
    ASSERT_TRUE(!tags || tags->size() <= most_entry_tags);
  }
}

TEST(EntryTags, ARecordIsTwoNumbersAndNothingElse) {
  tag_generations const of_tag{3, UINT64_MAX};
  EXPECT_EQ(decode_generations(encode_generations(of_tag)), of_tag);
  EXPECT_EQ(decode_generations(""), std::nullopt);
  EXPECT_EQ(decode_generations(encode_generations(of_tag) + "x"), std::nullopt);
}

TEST(EntryTags, AHeaderSaysWhetherItHasExtensions) {
  entry_header header;
  EXPECT_FALSE(has_extensions(encode_header(header, 1) + "v"));
  header.extensions = encode_tags(some_tags());
  auto entry = encode_header(header, 1) + "v";
  EXPECT_TRUE(has_extensions(entry));
  EXPECT_FALSE(has_extensions(entry.substr(0, 49)));
  EXPECT_FALSE(has_extensions("plain"));
  header.extensions = string(256, 'x');
  EXPECT_TRUE(has_extensions(encode_header(header, other_fields)));
  entry[8] = 2;
  EXPECT_FALSE(has_extensions(entry)) << "a version that is not known";
}

}  // namespace
}  // namespace herdlock::algo
