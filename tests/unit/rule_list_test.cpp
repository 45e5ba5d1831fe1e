// What people know of keys in advance: as it is stored, and what it says of a key at a time.
#include "algo/rule_list.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using what = hot_rule::action;
using match = hot_rule::match;

std::optional<hot_rule::time> at(std::uint64_t ms) {
  return hot_rule::time(milliseconds(static_cast<milliseconds::rep>(ms)));
}

rule_list_reader reader_of(std::vector<hot_rule> rules) {
  rule_list_reader made;
  EXPECT_TRUE(made.take({1, std::move(rules)}));
  return made;
}
constexpr hot_verdict nothing{};
constexpr hot_verdict pinned{.pinned = true};
constexpr hot_verdict denied{.denied = true};

TEST(RuleList, ComesBackAsItWasStored) {
  rule_list const list{
      7,
      {{what::pin, match::exact, "sale:1", at(1000), at(2000)},
       {what::deny, match::prefix, "user:"},
       {what::keep, match::exact, std::string("\0 %\n\xff", 5), {}, at(5), minutes(1)}}};
  EXPECT_EQ(decode_list(encode(list)), list);
  EXPECT_EQ(encode({1, {{what::pin, match::exact, "a b"}}}),
            "herdlock hot keys 1 1\npin exact 0 0 a%20b\n");
  EXPECT_EQ(encode({1, {{what::keep, match::prefix, "a", at(1), at(2), seconds(3)}}}),
            "herdlock hot keys 1 1\nkeep prefix 1 2 3000 a\n");
}

TEST(RuleList, WhatIsNoneIsRefusedAsAWhole) {
  for (char const* text :
       {"", "x\n", "herdlock hot keys 1 \n", "herdlock hot keys 2 1\n", "herdlock hot keys 1 1",
        "herdlock hot keys 1 1\npin exact 0 0 k", "herdlock hot keys 1 1\npin exact 0 0 \n",
        "herdlock hot keys 1 1\nhold exact 0 0 k\n", "herdlock hot keys 1 1\npin any 0 0 k\n",
        "herdlock hot keys 1 1\npin exact x 0 k\n", "herdlock hot keys 1 1\npin exact 0 k\n",
        "herdlock hot keys 1 1\npin exact 0 0 k%\n", "herdlock hot keys 1 1\npin exact 0 0 k%0x\n",
        "herdlock hot keys 1 1\npin exact 0 0 a b\n", "herdlock hot keys 1 1\n\n",
        "herdlock hot keys 1 1\nkeep exact 0 0 k\n",
        "herdlock hot keys 1 1\nkeep exact 0 0 999 k\n",
        "herdlock hot keys 1 1\nkeep exact 0 0 86400001 k\n"}) {
    EXPECT_FALSE(decode_list(text)) << text;
  }
  rule_list many{1, std::vector(rule_list::most_rules, hot_rule{.key = "k"})};
  EXPECT_TRUE(decode_list(encode(many)));
  many.rules.push_back({.key = "k"});
  EXPECT_FALSE(decode_list(encode(many)));
  std::string const longest(rule_list::most_key_bytes, 'x');
  EXPECT_TRUE(decode_list(encode({1, {{.key = longest}}})));
  EXPECT_FALSE(decode_list(encode({1, {{.key = longest + "x"}}})));
}

TEST(RuleList, WhatTheStoreHasWinsOverWhatAnybodySaid) {
  rule_list_reader rules;
  EXPECT_TRUE(rules.take({1000, {{.key = "said"}}}));
  EXPECT_FALSE(rules.take({5, {{.key = "stored"}}}));
  EXPECT_FALSE(rules.take_found({5, {{.key = "stored"}}}, 999)) << "a newer one came meanwhile";
  EXPECT_TRUE(rules.take_found({5, {{.key = "stored"}}}, 1000));
  EXPECT_EQ(rules.of("stored", 0), pinned);
  EXPECT_EQ(rules.of("said", 0), nothing);
  EXPECT_FALSE(rules.take_found({5, {}}, 5)) << "no news";
  EXPECT_TRUE(rules.take_found({6, {}}, 1)) << "newer than all";
}

TEST(RuleList, EachPrefixOfAKeyIsFound) {
  // With many that are none, in whatever order.
  std::vector<hot_rule> all;
  for (char const* text : {"b:1:", "", "b:", "b:10", "b:1:x:y", "a", "c", "b:1:x", "b:1:"}) {
    all.push_back({what::pin, match::prefix, text, at(all.size() + 1), at(all.size() + 2)});
  }
  auto const rules = reader_of(all);
  for (std::string const key : {"", "a", "ab", "b", "b:", "b:1", "b:1:", "b:1:w", "b:1:x", "b:1:x:",
                                "b:1:x:y", "b:1:x:yz", "b:1:z", "b:10", "b:2", "c", "d"}) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(rules.of(key, i + 1).pinned, key.starts_with(all[i].key))
          << key << " " << all[i].key;
    }
  }
}

TEST(RuleList, TheNewestCountsInWhateverOrderTheyCome) {
  rule_list_reader rules;
  EXPECT_TRUE(rules.take({2, {{.key = "new"}}}));
  EXPECT_FALSE(rules.take({1, {{.key = "old"}}}));
  EXPECT_FALSE(rules.take({2, {}}));
  EXPECT_EQ(rules.of("new", 0), pinned);
  EXPECT_EQ(rules.of("old", 0), nothing);
  EXPECT_TRUE(rules.take({3, {}}));
  EXPECT_EQ(rules.of("new", 0), nothing);
}

TEST(RuleList, AKeyAndAPrefix) {
  auto const rules =
      reader_of({{what::pin, match::exact, "sale"}, {what::pin, match::prefix, "top:"}});
  EXPECT_EQ(rules.of("sale", 0), pinned);
  EXPECT_EQ(rules.of("sales", 0), nothing);
  EXPECT_EQ(rules.of("top:1", 0), pinned);
  EXPECT_EQ(rules.of("top", 0), nothing);
}

TEST(RuleList, DenyWins) {
  auto const rules = reader_of({{what::pin, match::exact, "user:1"},
                                {what::keep, match::exact, "user:1", {}, {}, seconds(5)},
                                {what::deny, match::prefix, "user:"}});
  EXPECT_EQ(rules.of("user:1", 0), denied);
}

TEST(RuleList, OfSeveralBoundsTheGreatestCounts) {
  auto const rules = reader_of({{what::keep, match::exact, "user:1", {}, {}, seconds(5)},
                                {what::keep, match::prefix, "user:", {}, {}, seconds(9)},
                                {what::keep, match::exact, "user:1", {}, {}, seconds(7)}});
  EXPECT_EQ(rules.of("user:1", 0), (hot_verdict{.keep_at_most = seconds(9)}));
  EXPECT_EQ(rules.of("other", 0), nothing);
}

TEST(RuleList, ATimeThatNoClockHasIsRefused) {
  constexpr auto latest = rule_list::latest_ms;
  EXPECT_TRUE(decode_list(encode({1, {{what::pin, match::exact, "k", {}, at(latest)}}})));
  auto const later = std::to_string(latest + 1);
  EXPECT_FALSE(decode_list("herdlock hot keys 1 1\npin exact 0 " + later + " k\n"));
  EXPECT_FALSE(decode_list("herdlock hot keys 1 1\npin exact " + later + " 0 k\n"));
}

TEST(RuleList, ARuleHoldsFromOneTimeToAnother) {
  auto const rules = reader_of({{what::pin, match::exact, "k", at(1000), at(2000)}});
  EXPECT_EQ(rules.of("k", 999), nothing);
  EXPECT_EQ(rules.of("k", 1000), pinned);
  EXPECT_EQ(rules.of("k", 1999), pinned);
  EXPECT_EQ(rules.of("k", 2000), nothing);
  EXPECT_EQ(rules.next_change(0), 1000u);
  EXPECT_EQ(rules.next_change(1000), 2000u);
  EXPECT_EQ(rules.next_change(2000), std::nullopt);
}

TEST(RuleList, WhatIsToBeLoadedBeforehandIsWhatIsPinnedOrWillBe) {
  auto const rules = reader_of({{what::pin, match::exact, "now"},
                                {what::pin, match::exact, "soon", at(1000), at(2000)},
                                {what::pin, match::exact, "over", {}, at(100)},
                                {what::pin, match::prefix, "many"},
                                {what::deny, match::exact, "never"}});
  auto const found = rules.pins(100);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "now");
  EXPECT_EQ(found[1].key, "soon");
}

}  // namespace
}  // namespace herdlock::algo
