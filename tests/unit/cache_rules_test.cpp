// What a cache does with the rules for its keys, over a scripted store that keeps them and whose
// server pushes changes.
#include <atomic>
#include <chrono>

#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

hot_rule::time in(milliseconds from_now) { return std::chrono::system_clock::now() + from_now; }

class CacheRules : public CacheTest {
 protected:
  using rule = hot_rule;
  static constexpr auto pins = rule::action::pin;
  static constexpr auto denies = rule::action::deny;
  static constexpr auto whole = rule::match::exact;
  static constexpr auto beginning = rule::match::prefix;
  static constexpr double never = 1e12;

  CacheRules() {
    tracks = keeps_rules = true;
    loader.let_go();
    open_with(never);
  }

  static cache_options terms(double threshold, std::optional<near_cache> near = std::nullopt) {
    return {.prefix = "p:",
            .near = {.mode = near},
            .hot = {.keys = hot_keys_options{.threshold = threshold, .min_reads = 5},
                    .rules = key_rules::on}};
  }
  template <class Loader>
  void give_loader(Loader own) {
    strings.reset();
    settle();
    strings.emplace(*opened, terms(never), std::move(own));
    settle();
  }
  void open_with(double threshold, std::optional<near_cache> near = std::nullopt) {
    open(terms(threshold, near));
    for (auto const* key : {"p:k", "p:user:1", "p:user:2"}) {
      script->entries[key].value = cache_value("there");
    }
  }
  std::string ask(std::string_view key = "k") {
    call c;
    load(c, key);
    run_until([&] { return c.got.has_value(); });
    return c.value();
  }
  bool ask_until_kept(std::string_view key = "k") {
    return run_until([&] {
      auto const hits = strings->stats().near_hits;
      ask(key);
      return strings->stats().near_hits > hits;
    });
  }
  bool is_kept(std::string_view key = "k") {
    auto const hits = strings->stats().near_hits;
    ask(key);
    ask(key);
    return strings->stats().near_hits > hits;
  }
  std::uint64_t kept() const { return strings->stats().near_entries; }
};

TEST_F(CacheRules, AreAskedForWithTheFirstCallAndOnce) {
  settle();
  EXPECT_EQ(rules->listeners, 0u);
  ask();
  ask();
  EXPECT_EQ(rules->listeners, 1u);
}

TEST_F(CacheRules, APinnedKeyIsKeptThoughItIsReadSeldom) {
  ask();
  EXPECT_FALSE(is_kept());
  rules->tell({{pins, whole, "k"}});
  EXPECT_TRUE(ask_until_kept());
  EXPECT_FALSE(is_kept("user:1"));
}

TEST_F(CacheRules, OnesThatWereThereBeforeHoldAsWell) {
  rules->stored = {7, algo::encode({0, {{pins, beginning, "user:"}}})};
  ask();
  EXPECT_TRUE(ask_until_kept("user:1"));
}

TEST_F(CacheRules, WhatIsPinnedNoMoreIsDropped) {
  ask();
  rules->tell({{pins, whole, "k"}, {pins, beginning, "user:"}});
  ASSERT_TRUE(ask_until_kept());
  ASSERT_TRUE(ask_until_kept("user:1"));
  rules->tell({{pins, beginning, "user:"}});
  EXPECT_EQ(kept(), 1u);
  EXPECT_FALSE(is_kept());
  EXPECT_TRUE(is_kept("user:1"));
}

TEST_F(CacheRules, DenyDropsAHotKeyAndItIsNotKeptAgain) {
  open_with(10);
  ASSERT_TRUE(ask_until_kept());
  rules->tell({{denies, whole, "k"}});
  EXPECT_EQ(kept(), 0u);
  EXPECT_FALSE(is_kept());
  EXPECT_EQ(ask(), "there");
}

TEST_F(CacheRules, DenyWinsOverTheProgramsOwnPinAndOverOtherRules) {
  strings->pin("k");
  ASSERT_TRUE(ask_until_kept());
  rules->tell({{pins, whole, "k"}, {denies, beginning, "k"}});
  EXPECT_EQ(kept(), 0u);
  EXPECT_FALSE(is_kept());
  rules->tell({});
  EXPECT_TRUE(ask_until_kept()) << "the pin of the program is there";
}

TEST_F(CacheRules, DenyWinsWhereAllIsKept) {
  open_with(never, near_cache::all);
  ASSERT_TRUE(ask_until_kept("user:1"));
  ASSERT_TRUE(ask_until_kept("user:2"));
  rules->tell({{denies, whole, "user:1"}});
  EXPECT_EQ(kept(), 1u);
  EXPECT_FALSE(is_kept("user:1"));
  EXPECT_TRUE(is_kept("user:2"));
}

TEST_F(CacheRules, BeginAndEndAtTheirTimes) {
  ask();
  rules->tell({{pins, whole, "k", {}, in(1500ms)}});
  ASSERT_TRUE(ask_until_kept());
  EXPECT_TRUE(run_until([&] { return kept() == 0; })) << "without a call";
  rules->tell({{pins, whole, "k"}, {denies, whole, "k", in(1500ms)}});
  ASSERT_TRUE(ask_until_kept());
  EXPECT_TRUE(run_until([&] { return kept() == 0; }));
  EXPECT_FALSE(is_kept());
}

TEST_F(CacheRules, APinHoldsTenSecondsBeforeItsTimeAndNotEarlier) {
  ask();
  rules->tell({{pins, whole, "k", in(9s)}, {pins, whole, "user:1", in(1h)}});
  EXPECT_TRUE(ask_until_kept());
  EXPECT_FALSE(is_kept("user:1"));
}

TEST_F(CacheRules, OldOnesThatComeLateChangeNothing) {
  ask();
  rules->tell(5, algo::encode({0, {{pins, whole, "k"}}}));
  ASSERT_TRUE(ask_until_kept());
  rules->tell(4, algo::encode({0, {}}));
  EXPECT_EQ(kept(), 1u);
}

TEST_F(CacheRules, WhatIsNotUnderstoodIsAWarningAndTheOnesBeforeHold) {
  ask();
  rules->tell({{pins, whole, "k"}});
  ASSERT_TRUE(ask_until_kept());
  rules->tell(9, "herdlock hot keys 2 0\n");
  EXPECT_EQ(kept(), 1u);
  ASSERT_EQ(opened->warnings().size(), 1u);
  EXPECT_NE(opened->warnings().front().find("'p:'"), std::string::npos);
}

TEST_F(CacheRules, APinnedKeyIsLoadedBeforehandByTheLoaderForThat) {
  auto const runs = std::make_shared<std::atomic<int>>(0);
  give_loader([runs](load_context const& of) {
    ++*runs;
    return "early " + of.key().str();
  });
  settle();
  EXPECT_EQ(rules->listeners, 1u) << "without a call";
  rules->tell({{pins, whole, "sale", in(5s)}, {pins, whole, "later", in(1h)}});
  EXPECT_TRUE(run_until([&] { return kept() == 1; }));
  EXPECT_EQ(ask("sale"), "early sale");
  EXPECT_EQ(loader.runs, 0);
  rules->tell({{pins, whole, "sale", in(4s)}});
  settle();
  EXPECT_EQ(*runs, 1);
}

TEST_F(CacheRules, WhatFailedToBeLoadedBeforehandIsTriedAgain) {
  auto const runs = std::make_shared<std::atomic<int>>(0);
  give_loader([runs](load_context const&) -> std::string {
    if (++*runs == 1) throw std::runtime_error("no sale yet");
    return "late";
  });
  settle();
  rules->tell({{pins, whole, "sale"}});
  ASSERT_TRUE(run_until([&] { return opened->warnings().size() == 1; }));
  script->entries.erase("p:sale");  // as error_back_off does
  EXPECT_TRUE(run_until([&] { return kept() == 1; }));
  EXPECT_EQ(ask("sale"), "late");
  auto const told = opened->warnings();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_NE(told.front().find("no sale yet"), std::string::npos) << told.front();
}

TEST_F(CacheRules, AreObeyedByWhoIsToldNothing) {
  rules->stored = {1, algo::encode({1, {{denies, whole, "k"}}})};
  rules->tells = false;
  open_with(1);
  ask();
  settle();
  EXPECT_FALSE(is_kept());
  EXPECT_EQ(rules->reads, 1u);
}

TEST_F(CacheRules, KeepAsksTheStoreToLengthenTheEntryOfAHotKey) {
  open_with(10);
  ASSERT_TRUE(ask_until_kept());
  settle();
  EXPECT_TRUE(rules->prolonged.empty());
  rules->tell({{rule::action::keep, whole, "k", {}, {}, 60s}});
  ASSERT_TRUE(run_until([&] { return !rules->prolonged.empty(); }));
  EXPECT_EQ(rules->prolonged[0].key.str(), "p:k");
  EXPECT_EQ(rules->prolonged[0].to, 30s);
  EXPECT_EQ(rules->prolonged[0].at_most, 60s);
  for (int i = 0; i < 100; ++i) ask();
  EXPECT_EQ(rules->prolonged.size(), 1u);
}

TEST_F(CacheRules, KeepDoesNothingForAKeyThatIsNotHotThoughItIsPinned) {
  ask();
  rules->tell({{pins, whole, "k"}, {rule::action::keep, whole, "k", {}, {}, 1s}});
  ASSERT_TRUE(ask_until_kept());
  settle();
  EXPECT_TRUE(rules->prolonged.empty());
}

TEST_F(CacheRules, WhenAKeyIsDeniedItsEntryIsNotLengthened) {
  open_with(10);
  ASSERT_TRUE(ask_until_kept());
  rules->tell({{rule::action::keep, beginning, "k", {}, {}, 1s}, {denies, whole, "k"}});
  settle();
  EXPECT_TRUE(rules->prolonged.empty());
}

TEST_F(CacheRules, KeepGoesOnAfterAThirdOfItsStep) {
  open_with(10);
  ASSERT_TRUE(ask_until_kept());
  rules->tell({{rule::action::keep, whole, "k", {}, {}, 1s}});
  EXPECT_TRUE(run_until([&] {
    ask();
    return rules->prolonged.size() >= 3;
  }));
}

TEST_F(CacheRules, AServerThatDoesNotLengthenIsAWarning) {
  open_with(10);
  rules->prolong_failure = make_failure(errc::access_denied, "no right to PEXPIRE");
  ASSERT_TRUE(ask_until_kept());
  rules->tell({{rule::action::keep, whole, "k", {}, {}, 1s}});
  ASSERT_TRUE(run_until([&] { return !opened->warnings().empty(); }));
  EXPECT_NE(opened->warnings().front().find("no right to PEXPIRE"), std::string::npos);
  EXPECT_NE(opened->warnings().front().find("'p:'"), std::string::npos);
}

TEST_F(CacheRules, AServerThatDoesNotAnswerIsNone) {
  open_with(10);
  rules->prolong_failure = make_failure(errc::unavailable, "away");
  ASSERT_TRUE(ask_until_kept());
  rules->tell({{rule::action::keep, whole, "k", {}, {}, 1s}});
  ASSERT_TRUE(run_until([&] { return rules->prolonged.size() >= 2; }));
  EXPECT_TRUE(opened->warnings().empty());
}

TEST_F(CacheRules, WhoHasNotNamedThemDoesNotAskForThem) {
  open({.prefix = "p:"});
  ask();
  EXPECT_EQ(rules->listeners, 0u);
  open({.prefix = "p:", .near = {.mode = near_cache::all}, .hot = {.keys = hot_keys_options{}}});
  ask();
  settle();
  EXPECT_EQ(rules->listeners, 0u);
  EXPECT_EQ(rules->reads, 0u);
}

TEST_F(CacheRules, TheyAreALineOfTheirOwn) {
  open({.prefix = "p:", .hot = {.rules = key_rules::on}});
  script->entries["p:k"].value = cache_value("there");
  ask();
  EXPECT_EQ(rules->listeners, 1u);
  EXPECT_FALSE(is_kept());
  rules->tell({{pins, whole, "k"}});
  EXPECT_TRUE(ask_until_kept()) << "nobody counts its reads";
  EXPECT_TRUE(strings->most_read(10).empty());
}

TEST_F(CacheRules, WhereNothingIsKeptTheyAreHeardForTheEntriesOfOthers) {
  open_with(10, near_cache::off);
  rules->tell({{rule::action::keep, whole, "k", {}, {}, 60s}});
  EXPECT_TRUE(run_until([&] {
    ask();
    return !rules->prolonged.empty();
  }));
  EXPECT_EQ(rules->listeners, 1u);
}

TEST_F(CacheRules, AStoreThatKeepsNoneIsRefused) {
  keeps_rules = false;
  try {
    open({.prefix = "p:", .hot = {.rules = key_rules::on}});
    FAIL() << "taken";
  } catch (error const& why) {
    EXPECT_TRUE(why.code() == errc::not_supported);
    EXPECT_NE(std::string(why.what()).find("cache option hot.rules"), std::string::npos)
        << why.what();
  }
}

}  // namespace
}  // namespace herdlock::scripted
