// The rule `keep`: the time of an entry is lengthened while it is hot, within its bound whoever
// asks, and never shortened.
#include <herdlock/cache.hpp>
#include <herdlock/hot_rules.hpp>
#include <herdlock/open.hpp>

#include "exchange_fixture.hpp"

namespace herdlock_test {
namespace {

struct keep_contract : store_contract {
  void put(cache_value value, milliseconds ttl = 1min) {
    ASSERT_TRUE(c.put(key, std::move(value), ttl).has_value());
  }
  milliseconds left() { return time_left(c, key); }

  cache_key const key{"k"};
  std::unique_ptr<client> const other = another();
};

INSTANTIATE_TEST_SUITE_P(stores, keep_contract, testing::ValuesIn(stores_that([](auto const& kind) {
                           return kind.exchanges;
                         })),
                         case_name);

TEST_P(keep_contract, LengthensWhatEndsSoon) {
  put(std::string("theirs"));
  EXPECT_TRUE(prolong(c, key, 10min, 1h));
  EXPECT_GT(left(), 9min);
  EXPECT_LE(left(), 10min);
  EXPECT_EQ(text_of(c.look(key)), "theirs");
}

TEST_P(keep_contract, LengthensAHashToo) {
  put(hash_fields{{"f", "theirs"}});
  EXPECT_TRUE(prolong(c, key, 10min, 1h));
  EXPECT_GT(left(), 9min);
}

TEST_P(keep_contract, LeavesNoSuchThingAlone) {
  put(absent{});
  EXPECT_FALSE(prolong(c, key, 10min, 1h));
  EXPECT_LE(left(), 1min);
}

TEST_P(keep_contract, NeverShortens) {
  put(std::string("theirs"), 1h);
  EXPECT_FALSE(prolong(c, key, 30s, 5min));
  EXPECT_FALSE(prolong(c, key, 0ms, 0ms));
  EXPECT_GT(left(), 55min);
}

TEST_P(keep_contract, WhoAsksSoonAfterAnotherWritesNothing) {
  put(std::string("theirs"));
  ASSERT_TRUE(prolong(c, key, 10min, 1h));
  EXPECT_FALSE(prolong(*other, key, 10min, 1h));
  EXPECT_LE(left(), 10min);
}

TEST_P(keep_contract, GoesToTheBoundBeyondTheFirstExpiryAndNoFurther) {
  put(std::string("theirs"));
  EXPECT_TRUE(prolong(c, key, 10min, 1min));
  EXPECT_GT(left(), 1min);
  EXPECT_LE(left(), 2min);
  EXPECT_FALSE(prolong(c, key, 10min, 1min));
  EXPECT_FALSE(prolong(*other, key, 10min, 1min)) << "who comes later knows the first expiry, too";
  EXPECT_LE(left(), 2min);
}

TEST_P(keep_contract, InSeveralStepsItKeepsToTheBoundToo) {
  put(std::string("theirs"));
  ASSERT_TRUE(prolong(c, key, 2min, 5min));
  ASSERT_TRUE(prolong(*other, key, 4min, 5min));
  EXPECT_TRUE(prolong(c, key, 1h, 5min));
  EXPECT_GT(left(), 4min);
  EXPECT_LE(left(), 6min);
  EXPECT_FALSE(prolong(*other, key, 1h, 5min));
}

TEST_P(keep_contract, WhatIsWrittenAnewBeginsAnew) {
  put(std::string("theirs"));
  ASSERT_TRUE(prolong(c, key, 10min, 1min));
  ASSERT_FALSE(prolong(c, key, 10min, 1min));
  put(std::string("new"));
  EXPECT_LE(left(), 1min);
  EXPECT_TRUE(prolong(*other, key, 10min, 1min));
  EXPECT_GT(left(), 1min);
  EXPECT_EQ(text_of(c.look(key)), "new");
}

TEST_P(keep_contract, WhatHasGoneStaysGone) {
  EXPECT_FALSE(prolong(c, key, 10min, 1h));
  put(std::string("theirs"), 20ms);
  // Redis says "0 ms" of an entry that is there for a part of one.
  ASSERT_TRUE(eventually([&] { return text_of(c.look(key)) == "(miss)"; }));
  EXPECT_FALSE(prolong(c, key, 10min, 1h));
  EXPECT_EQ(text_of(c.look(key)), "(miss)");
}

TEST_P(keep_contract, AClaimIsNoEntry) {
  ASSERT_TRUE(is<claimed>(c.claim(key, alice)));
  EXPECT_FALSE(prolong(c, key, 10min, 1h));
  EXPECT_EQ(c.fill(key, alice, std::string("loaded")).value(), fill_reply::stored);
}

// Also where nothing is kept in the process.
TEST_P(keep_contract, ACacheLengthensWhatIsHotAsTheRuleSays) {
  auto const store = open_store(url());
  cache_options how{.prefix = "p:"};
  how.hot.keys = hot_keys_options{.threshold = 50, .window = 400ms, .min_reads = 10};
  how.hot.rules = key_rules::on;
  cache<std::string> const one(store, how);
  change_hot_rules(store, "p:", [](std::vector<hot_rule>& all) {
    all = {{.does = hot_rule::action::keep, .key = "k", .keep_at_most = 10min}};
  });
  cache_key const its("p:k"), another_one("p:cold");
  for (auto const& each : {its, another_one}) {
    ASSERT_TRUE(c.put(each, std::string("theirs"), 20s).has_value());
  }
  EXPECT_TRUE(eventually([&] {
    for (int i = 0; i < 20; ++i) one.get("k");
    return time_left(c, its) > 20s;
  }));
  EXPECT_LE(time_left(c, another_one), 20s);
}

}  // namespace
}  // namespace herdlock_test
