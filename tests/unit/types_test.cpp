#include <gtest/gtest.h>

#include <herdlock/backend.hpp>
#include <herdlock/types.hpp>
#include <set>

namespace herdlock {
namespace {

using namespace std::chrono_literals;

TEST(Name, IsAcceptedUpToItsLimitAndRefusedOneByteOver) {
  EXPECT_TRUE(resource::parse(std::string(limits::max_name_bytes, 'a')).has_value());
  auto over = resource::parse(std::string(limits::max_name_bytes + 1, 'a'));
  ASSERT_FALSE(over.has_value());
  EXPECT_TRUE(over.error() == errc::invalid_name);
  EXPECT_NE(over.error().message.find("513"), std::string::npos);
}

TEST(Name, IsRefusedWhenEmptyOrWithANul) {
  EXPECT_TRUE(resource::parse("").error() == errc::invalid_name);
  EXPECT_TRUE(cache_key::parse(std::string_view("a\0b", 3)).error() == errc::invalid_name);
  EXPECT_THROW(cache_key(""), error);
  EXPECT_TRUE(cache_key::parse("line\nbreak, Ünïcode, 缓存").has_value());
}

TEST(OwnerToken, IsFreshEachTimeAndShowsOnlyItsLabel) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(owner_token::generate().str());
  EXPECT_EQ(seen.size(), 1000u);
  owner_token token = owner_token::generate();
  EXPECT_EQ(token.str().substr(0, token.label().size()), token.label());
  EXPECT_EQ(owner_label(token.str()), token.label());
  EXPECT_EQ(token.str().size(), token.label().size() + 33);
}

TEST(OwnerToken, ComesBackFromItsTextAndNothingElseIsTaken) {
  owner_token token = owner_token::generate();
  EXPECT_EQ(owner_token::parse(token.str()).value(), token);
  for (std::string_view text : {"", "label", "label:123", "x:0123456789abcdef0123456789abcdeF"}) {
    EXPECT_TRUE(owner_token::parse(text).error() == errc::invalid_owner) << text;
    EXPECT_EQ(owner_label(text), "another client");
  }
  std::string digits = ":0123456789abcdef0123456789abcdef";
  std::string longest(limits::max_owner_bytes - digits.size(), 'l');
  EXPECT_TRUE(owner_token::parse(longest + digits).has_value());
  EXPECT_FALSE(owner_token::parse("l" + longest + digits).has_value());
}

TEST(OwnerToken, OfOurOwnIsKnownByItsShape) {
  std::string const digits = ":0123456789abcdef0123456789abcdef";
  EXPECT_TRUE(is_own_token(owner_token::generate().str()));
  EXPECT_TRUE(is_own_token(owner_token::generate("candidate").str()));
  EXPECT_TRUE(is_own_token("/1" + digits));
  EXPECT_TRUE(is_own_token(std::string(limits::max_owner_bytes - 35, 'h') + "/1" + digits));
  EXPECT_FALSE(is_own_token(std::string(limits::max_owner_bytes - 34, 'h') + "/1" + digits));
  for (std::string const text : {"", "session", "host/", "host/1x", "host/x1", "1", "host/1/"}) {
    EXPECT_FALSE(is_own_token(text + digits)) << text;
  }
  EXPECT_FALSE(is_own_token("host/1:0123456789abcdef0123456789abcdeF"));
  EXPECT_FALSE(is_own_token("host/1"));
  EXPECT_FALSE(is_own_token(std::string("\0host/1", 7) + digits));
  EXPECT_FALSE(is_own_token(""));
}

TEST(OwnerToken, ALabelOfOnesOwnIsShownWithoutTheProcessBehindIt) {
  auto const token = owner_token::generate("blue/7");
  EXPECT_EQ(token.label(), "blue/7");
  EXPECT_EQ(owner_label(token.str()), "blue/7");
  EXPECT_EQ(owner_token::parse(token.str()).value().label(), "blue/7");
  auto const longest = owner_token::generate(std::string(limits::max_label_bytes + 1, 'x'));
  EXPECT_EQ(longest.label(), std::string(limits::max_label_bytes, 'x'));
  EXPECT_LE(longest.str().size(), limits::max_owner_bytes);
  std::string const digits = ":0123456789abcdef0123456789abcdef";
  for (std::string const label : {"//1", "a//", "a//1x", "host/1"}) {
    EXPECT_EQ(owner_label(label + digits), label);
  }
}

TEST(Ttl, IsAcceptedInsideItsLimitsOnly) {
  EXPECT_FALSE(check_ttl(limits::min_ttl).code);
  EXPECT_FALSE(check_ttl(limits::max_ttl).code);
  EXPECT_TRUE(check_ttl(limits::min_ttl - 1ms) == errc::invalid_ttl);
  EXPECT_TRUE(check_ttl(limits::max_ttl + 1ms) == errc::invalid_ttl);
  EXPECT_TRUE(check_ttl(0ms) == errc::invalid_ttl);
  EXPECT_TRUE(check_ttl(-1ms) == errc::invalid_ttl);
  EXPECT_TRUE(check_ttl(wait_forever) == errc::invalid_ttl);
}

TEST(Clock, DoesNotGoBackwards) {
  auto last = clock::now();
  for (int i = 0; i < 1000; ++i) {
    auto next = clock::now();
    ASSERT_GE(next, last);
    last = next;
  }
}

TEST(Value, IsAcceptedUpToItsLimitAndRefusedOneByteOver) {
  cache_key key("k");
  EXPECT_FALSE(check_value(key, std::string(limits::max_value_bytes, 'v')).code);
  EXPECT_TRUE(check_value(key, std::string(limits::max_value_bytes + 1, 'v')) ==
              errc::invalid_value);
  hash_fields fields{{"f", std::string(limits::max_value_bytes - 9, 'v')}};
  EXPECT_FALSE(check_value(key, fields).code);
  fields.front().second += 'v';
  EXPECT_TRUE(check_value(key, fields) == errc::invalid_value);
  EXPECT_FALSE(check_value(key, absent{}).code);
}

TEST(Value, FitsItsOwnLayoutOnlyUnlessItIsAbsent) {
  cache_key key("k");
  EXPECT_FALSE(check_layout(key, std::string("v"), layout::string).code);
  EXPECT_TRUE(check_layout(key, std::string("v"), layout::hash) == errc::wrong_type);
  EXPECT_TRUE(check_layout(key, hash_fields{}, layout::string) == errc::wrong_type);
  EXPECT_FALSE(check_layout(key, absent{}, layout::hash).code);
  EXPECT_FALSE(check_layout(key, absent{}, layout::string).code);
}

TEST(Message, StaysOneLineWhateverTheNameHolds) {
  EXPECT_EQ(in_quotes("plain"), "'plain'");
  EXPECT_EQ(in_quotes("a\nb\x7f"), "'a\\x0ab\\x7f'");
  EXPECT_EQ(in_quotes("a b\\x20"), "'a b\\\\x20'") << "no two names look alike";
  EXPECT_EQ(in_quotes("\xc2\x9b"
                      "1m \x9b"
                      "1m \xc3\xa9"),
            "'\\xc2\\x9b1m \\x9b1m \xc3\xa9'");
  EXPECT_LT(in_quotes(std::string(500, 'n')).size(), 100u);
}

TEST(Message, WhatIsNotUtf8IsShownAsBytes) {
  struct {
    char const* text;
    char const* shown;
  } const samples[] = {
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},                               // a surrogate
      {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},                               // overlong
      {"\xf0\x80\x80\xaf", "\\xf0\\x80\\x80\\xaf"},                      // overlong
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},                      // above U+10FFFF
      {"\xe2\x80\xae", "\\xe2\\x80\\xae"},                               // U+202E
      {"\xe2\x81\xa6", "\\xe2\\x81\\xa6"},                               // U+2066
      {"\xe2\x80\x8f", "\\xe2\\x80\\x8f"},                               // U+200F
      {"\xd8\x9c", "\\xd8\\x9c"},                                        // U+061C
      {"\xed\x9f\xbf\xf4\x8f\xbf\xbf", "\xed\x9f\xbf\xf4\x8f\xbf\xbf"},  // U+D7FF, U+10FFFF
      {"\xe2\x80\xa6", "\xe2\x80\xa6"},                                  // an ellipsis
      {"a\\b", "a\\b"},
  };
  for (auto const& [text, expected] : samples) {
    EXPECT_EQ(printable(text), expected);
    EXPECT_EQ(printable(printable(text)), expected) << "twice is once";
  }
  EXPECT_EQ(escaped("a\\x20 \xff"), "a\\\\x20 \\xff");
}

TEST(Error, EveryConditionHasItsOwnSentence) {
  std::set<std::string> sentences;
  for (int e = 1; e <= static_cast<int>(errc::forked); ++e) {
    sentences.insert(make_error_code(static_cast<errc>(e)).message());
  }
  EXPECT_EQ(sentences.size(), static_cast<std::size_t>(errc::forked));
  EXPECT_EQ(sentences.count("unknown herdlock error"), 0u);
}

}  // namespace
}  // namespace herdlock
