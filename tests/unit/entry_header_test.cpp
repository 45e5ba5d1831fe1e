// The header of a framed entry: what is written is read, and everything else is a miss by name.
#include "algo/entry_header.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace herdlock::algo {
namespace {

using std::string;

entry_header some_header() {
  return {.state = header_state::filled,
          .content = header_content::value,
          .created = std::chrono::microseconds(1'764'000'000'123'456),
          .load_time = milliseconds{250},
          .ttl = milliseconds{300'000},
          .grace = milliseconds{60'000}};
}

string framed(entry_header const& header, std::string_view value) {
  return encode_header(header, value.size()) + string(value);
}

entry_header read(string const& entry) {
  auto const got = decode_header(entry);
  auto const* decoded = std::get_if<decoded_header>(&got);
  EXPECT_NE(decoded, nullptr);
  return decoded ? decoded->header : entry_header{};
}

TEST(EntryHeader, WhatIsWrittenIsReadAndTheValueFollowsIt) {
  auto const entry = framed(some_header(), "the value");
  auto const got = decode_header(entry);
  ASSERT_TRUE(std::holds_alternative<decoded_header>(got));
  auto const& decoded = std::get<decoded_header>(got);
  EXPECT_EQ(decoded.header, some_header());
  EXPECT_EQ(entry.substr(decoded.bytes), "the value");
}

TEST(EntryHeader, EachPartIsKept) {
  auto header = some_header();
  header.content = header_content::nothing;
  header.created = {};
  header.load_time = milliseconds{0};
  header.grace = milliseconds{0};
  EXPECT_EQ(read(framed(header, "")), header);
  header.extensions = string(most_extensions, 'x');
  header.ttl = limits::max_ttl;
  header.grace = limits::max_ttl;
  EXPECT_EQ(read(framed(header, "v")), header);
  header.load_time = std::chrono::hours(24 * 365);
  EXPECT_EQ(read(framed(header, "v")).load_time, milliseconds{4'294'967'295}) << "longer is that";
}

// The bytes of version 1, as they are in the store: they are never to change.
TEST(EntryHeader, TheBytesOfVersionOneStayAsTheyAre) {
  auto header = some_header();
  header.created = std::chrono::microseconds(0x0102030405060708);
  header.extensions = "ab";
  string const expected = string("\0hlframe\1fv\0", 12) + string("\1\2\3\4\5\6\7\10", 8) +
                          string("\0\0\0\xfa", 4) + string("\0\0\0\0\0\4\x93\xe0", 8) +
                          string("\0\0\0\0\0\0\xea\x60", 8) + string("\0\0\0\0\0\0\0\3", 8) +
                          string("\0\2", 2) + "ab" + "xyz";
  EXPECT_EQ(framed(header, "xyz"), expected);
}

TEST(EntryHeader, ExpireWritesOneByte) {
  auto entry = framed(some_header(), "v");
  entry[header_state_at] = stale_mark;
  auto header = some_header();
  header.state = header_state::expired;
  EXPECT_EQ(read(entry), header);
}

TEST(EntryHeader, WhatIsNoHeaderOfOursIsAMissByName) {
  struct row {
    char const* what;
    header_fault fault;
    std::function<string(string)> change;
  };
  auto const set = [](std::size_t at, char to) {
    return [at, to](string entry) {
      entry.at(at) = to;
      return entry;
    };
  };
  row const rows[] = {
      {"nothing at all", header_fault::foreign, [](string const&) { return string(); }},
      {"a plain value", header_fault::foreign, [](string const&) { return string("plain"); }},
      {"a zero byte", header_fault::foreign, [](string const&) { return string(1, '\0'); }},
      {"a negative entry of a plain cache", header_fault::foreign,
       [](string const&) { return string("\0herdlock:absent", 16); }},
      {"cut in the mark", header_fault::foreign, [](string const& e) { return e.substr(0, 7); }},
      {"only the mark", header_fault::cut_short, [](string const& e) { return e.substr(0, 8); }},
      {"cut in the header", header_fault::cut_short,
       [](string const& e) { return e.substr(0, 49); }},
      {"cut in the value", header_fault::cut_short,
       [](string const& e) { return e.substr(0, e.size() - 1); }},
      {"longer than it says", header_fault::damaged, [](string const& e) { return e + "x"; }},
      {"the next version", header_fault::newer, set(8, 2)},
      {"the last version", header_fault::newer, set(8, '\xff')},
      {"version 0", header_fault::damaged, set(8, 0)},
      {"an unknown state", header_fault::damaged, set(9, 'x')},
      {"an unknown content", header_fault::damaged, set(10, 'x')},
      {"a time beyond all times", header_fault::damaged, set(12, '\xff')},
      {"a ttl beyond all ttls", header_fault::damaged, set(24, '\x7f')},
      {"more extensions than bytes", header_fault::cut_short, set(48, '\xff')},
  };
  for (auto const& row : rows) {
    auto const got = decode_header(row.change(framed(some_header(), "the value")));
    auto const* fault = std::get_if<header_fault>(&got);
    ASSERT_NE(fault, nullptr) << row.what;
    EXPECT_EQ(*fault, row.fault) << row.what;
  }
}

TEST(EntryHeader, EveryVersionIsSeenToBeFramed) {
  auto entry = framed(some_header(), "v");
  EXPECT_TRUE(has_header(entry));
  entry[8] = 9;
  EXPECT_TRUE(has_header(entry));
  EXPECT_FALSE(has_header("plain"));
  EXPECT_FALSE(has_header(""));
}

TEST(EntryHeader, AsAFieldOfAHashItCountsNoPayload) {
  auto const field = encode_header(some_header(), other_fields);
  EXPECT_EQ(read(field), some_header());
}

TEST(EntryHeader, WhatIsMadeStaleSaysSoAndIsOtherwiseAsItWas) {
  auto entry = framed(some_header(), "the value");
  auto stale = entry;
  ASSERT_TRUE(mark_stale(stale));
  EXPECT_EQ(read(stale).state, header_state::expired);
  EXPECT_NE(stale, entry);
  entry[header_state_at] = stale_mark;
  EXPECT_EQ(stale, entry);
  EXPECT_TRUE(mark_stale(stale)) << "once more";
  EXPECT_EQ(stale, entry);
}

TEST(EntryHeader, WithoutAKnownHeaderNothingIsMadeStale) {
  auto newer = framed(some_header(), "the value");
  newer[8] = 2;
  for (string const& entry :
       {string(), string("plain"), newer, string(header_mark), string(header_beginning)}) {
    auto same = entry;
    EXPECT_FALSE(mark_stale(same));
    EXPECT_EQ(same, entry);
  }
}

TEST(EntryHeader, NoBytesMakeItReadBeyondItsEnd) {
  std::mt19937 random(7);
  auto const whole = framed(some_header(), "the value");
  for (int i = 0; i < 200'000; ++i) {
    string entry = whole.substr(0, random() % (whole.size() + 1));
    for (auto changes = random() % 4; changes > 0 && !entry.empty(); --changes) {
      entry[random() % entry.size()] = static_cast<char>(random());
    }
    auto const got = decode_header(entry);
    if (auto const* decoded = std::get_if<decoded_header>(&got)) {
      ASSERT_LE(decoded->bytes, entry.size());
    }
  }
}

}  // namespace
}  // namespace herdlock::algo
