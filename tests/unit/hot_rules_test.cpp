// Reading and changing the rules for hot keys, over a scripted store: what is refused, and what
// becomes of two writers at once.
#include <herdlock/hot_rules.hpp>

#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;
using rules_of_test = std::vector<hot_rule>;

class HotRules : public CacheTest {
 protected:
  HotRules() {
    keeps_rules = true;
    open({.prefix = "p:"});
  }

  result<hot_rules> change(hot_rules_edit edit) {
    std::optional<result<hot_rules>> got;
    async_change_hot_rules(*opened, "p:", std::move(edit),
                           herdlock_test::as_result([&](result<hot_rules> r) { got.emplace(r); }));
    run_until([&] { return got.has_value(); });
    return got.value();
  }
  result<hot_rules> read() {
    std::optional<result<hot_rules>> got;
    async_read_hot_rules(
        *opened, "p:", herdlock_test::as_result([&](result<hot_rules> r) { got.emplace(r); }));
    run_until([&] { return got.has_value(); });
    return got.value();
  }
  /// Nothing is written, and the message says why.
  void expect_refused(hot_rules_edit edit, std::string const& said) {
    auto const refused = change(std::move(edit));
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error(), errc::invalid_value);
    EXPECT_NE(refused.error().message.find(said), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find("scripted:"), std::string::npos);
    EXPECT_EQ(rules->writes, 0u);
  }
  static hot_rules_edit adding(hot_rule one) {
    return [one = std::move(one)](rules_of_test& all) { all.push_back(one); };
  }
};

TEST_F(HotRules, AreNoneAtFirst) {
  auto const found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, hot_rules());
}

TEST_F(HotRules, AreReadAsTheyWereWritten) {
  hot_rule::time const noon(std::chrono::milliseconds(1'800'000'000'123));
  hot_rule const sale{.key = std::string("a b%\n\0", 6), .from = noon, .until = noon + 2h};
  hot_rule const never{
      .does = hot_rule::action::deny, .by = hot_rule::match::prefix, .key = "user:"};
  hot_rule const kept{.does = hot_rule::action::keep, .key = "theirs", .keep_at_most = 90s};
  auto const written = change([&](rules_of_test& all) { all = {sale, never, kept}; });
  ASSERT_TRUE(written);
  EXPECT_EQ(written->version, rules->stored.version);
  auto const found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, *written);
  EXPECT_EQ(found->rules, (rules_of_test{sale, never, kept}));
}

TEST_F(HotRules, AChangeBeginsAgainWhenSomebodyElseWasFirst) {
  rules->others_in_front = 3;
  int tries = 0;
  auto const written = change([&](rules_of_test& all) {
    ++tries;
    all.push_back({.key = "k"});
  });
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(tries, 4);
  EXPECT_EQ(written->rules.size(), 1u);
}

TEST_F(HotRules, AChangeGivesUpAfterTenTries) {
  rules->others_in_front = 1000;
  auto const written = change(adding({.key = "k"}));
  ASSERT_TRUE(written.has_error());
  EXPECT_EQ(written.error(), errc::overloaded);
  EXPECT_EQ(rules->writes, 10u);
}

TEST_F(HotRules, AThousandAreTakenAndOneMoreIsRefusedByTheLimit) {
  auto const make = [](std::size_t count) {
    return [count](rules_of_test& all) { all.assign(count, {.key = "k"}); };
  };
  expect_refused(make(1001), "1001 rules; at most 1000");
  EXPECT_TRUE(change(make(1000)));
}

TEST_F(HotRules, AKeyMayHave256Bytes) {
  expect_refused(adding({.key = std::string(257, 'x')}), "257 bytes; at most 256");
  expect_refused(adding({.key = ""}), "without a key");
  EXPECT_TRUE(change(adding({.key = std::string(256, 'x')})));
}

TEST_F(HotRules, TimesThatMakeNoSenseAreRefused) {
  hot_rule::time const noon(std::chrono::milliseconds(1'800'000'000'000));
  expect_refused(adding({.key = "k", .from = noon, .until = noon}), "ends before it begins");
  expect_refused(adding({.key = "k", .until = hot_rule::time(-1s)}), "before 1970");
  expect_refused(adding({.key = "k", .from = hot_rule::time::min()}), "before 1970");
}

TEST_F(HotRules, AnEntryIsKeptFromASecondToADayAtMost) {
  auto const keeping = [](milliseconds at_most) {
    return adding({.does = hot_rule::action::keep, .key = "k", .keep_at_most = at_most});
  };
  expect_refused(keeping(999ms), "999 ms");
  expect_refused(keeping(24h + 1ms), "from 1 s to 24 h");
  EXPECT_TRUE(change(keeping(1s)));
  EXPECT_TRUE(change(keeping(24h)));
}

TEST_F(HotRules, TheLastTimeOfTheClockIsKept) {
  auto const written = change(adding({.key = "k", .until = hot_rule::time::max()}));
  ASSERT_TRUE(written) << written.error().message;
  auto const found = read();
  ASSERT_TRUE(found);
  EXPECT_GT(found->rules.at(0).until.value(), hot_rule::time::max() - 1ms);
}

TEST_F(HotRules, WhatTheEditThrowsEndsTheChange) {
  expect_refused([](rules_of_test&) { throw std::runtime_error("mine"); }, "mine");
}

TEST_F(HotRules, ThoseOfANewerVersionAreNotOverwritten) {
  rules->stored = {4, "herdlock hot keys 2 0\n"};
  expect_refused(adding({.key = "k"}), "does not know");
  rules->stored = {4, "herdlock hot keys 1 0\nhold exact 0 0 k\n"};
  expect_refused(adding({.key = "k"}), "does not know");
}

TEST_F(HotRules, AStoreThatKeepsNoneSaysSo) {
  keeps_rules = false;
  open({.prefix = "p:"});
  auto const found = read();
  ASSERT_TRUE(found.has_error());
  EXPECT_EQ(found.error(), errc::not_supported);
  EXPECT_NE(found.error().message.find("or a Redis"), std::string::npos);
}

TEST(HotRulesOverMemory, TheBlockingFormsReadChangeAndThrow) {
  auto const opened = open_store("memory:");
  EXPECT_EQ(read_hot_rules(opened, "p:").version, 0u);
  auto const add = [](rules_of_test& all) { all.push_back({.key = "k"}); };
  auto const changed = change_hot_rules(opened, "p:", add);
  EXPECT_EQ(read_hot_rules(opened, "p:").version, changed.version);
  ASSERT_EQ(read_hot_rules(opened, "p:").rules.size(), 1u);
  auto const spoil = [](rules_of_test& all) { all[0].key = std::string(1000, 'k'); };
  EXPECT_THROW(change_hot_rules(opened, "p:", spoil), error);
}

}  // namespace
}  // namespace herdlock::scripted
