// What a loader decides of its entry: its ttl, that it is not stored, that nothing was modified.
#include "cache_age_fixture.hpp"

namespace herdlock::scripted {
namespace {

using herdlock_test::of_text;

class CacheDecides : public CacheAge {
 protected:
  using decision = std::function<text(of_text&)>;

  call& load_by(decision decide, std::string_view key = "k") {
    auto& c = calls.emplace_back();
    auto load = [this, decide = std::move(decide)](of_text& of) -> asio::awaitable<text> {
      ++runs;
      co_return decide(of);
    };
    strings->async_get_or_load(key, load, herdlock_test::as_result(c.token()));
    settle();
    return c;
  }
  static decision keeps_for(milliseconds span) {
    return [span](of_text& of) -> text {
      of.set_ttl(span);
      return "new";
    };
  }
  static text not_stored(of_text& of) {
    of.do_not_store();
    return "new";
  }
  static text not_modified(of_text& of) { return of.not_modified(); }
  /// The value that a loader finds there.
  std::string old_of_load() {
    std::string seen = "(no load)";
    load_by([&seen](of_text& of) -> text {
      auto const* const old = of.old_value();
      seen = old ? *old : of.has_old_entry() ? "(nothing)" : "(none)";
      return "new";
    });
    return seen;
  }

  int runs = 0;
};

TEST_F(CacheDecides, TheTtlThatTheLoaderSetsIsTheEntrys) {
  open({.ttl_jitter = 0});
  EXPECT_EQ(load_by(keeps_for(1234ms)).value(), "new");
  EXPECT_EQ(script->last_ttl, 1234ms);
}

// What ends at a known time (a token) must not be served behind that.
TEST_F(CacheDecides, TheJitterOnlyShortensIt) {
  open({.ttl_jitter = 0.5});
  bool varies = false;
  for (int i = 0; i < 50; ++i) {
    load_by(keeps_for(1000ms), "k" + std::to_string(i));
    EXPECT_LE(script->last_ttl, 1000ms);
    EXPECT_GE(script->last_ttl, 500ms);
    varies = varies || script->last_ttl < 1000ms;
  }
  EXPECT_TRUE(varies);
}

TEST_F(CacheDecides, TheGraceComesBehindIt) {
  open(framed());
  load_by(keeps_for(5s));
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored()->header.ttl, 5s);
  EXPECT_EQ(script->last_ttl, 5s + grace);
}

TEST_F(CacheDecides, AnEntryOfALastingCacheEndsWithIt) {
  open({.ttl = lasting});
  load_by(keeps_for(5s));
  EXPECT_EQ(script->last_ttl, 5s);
}

TEST_F(CacheDecides, ItCountsForNoSuchThingToo) {
  open({.ttl_jitter = 0, .negative_ttl = 0ms});
  load_by([](of_text& of) -> text {
    of.set_ttl(5s);
    return std::nullopt;
  });
  EXPECT_EQ(script->last_ttl, 5s);
  ASSERT_TRUE(script->entries["k"].value);
  EXPECT_TRUE(std::holds_alternative<absent>(*script->entries["k"].value));
}

TEST_F(CacheDecides, ATtlOutsideTheLimitsIsAnErrorOfTheLoader) {
  open({.ttl_jitter = 0, .error_back_off = 0ms});
  for (milliseconds const span : {0ms, -1ms, limits::min_ttl - 1ms, limits::max_ttl + 1ms}) {
    auto const& c = load_by(keeps_for(span));
    EXPECT_TRUE(c.failed_with(errc::load_failed)) << c.value();
    EXPECT_NE(c.value().find("do_not_store()"), std::string::npos) << c.value();
  }
  EXPECT_EQ(script->count("fill"), 0u);
  load_by(keeps_for(limits::min_ttl));
  EXPECT_EQ(script->last_ttl, limits::min_ttl);
  load_by(keeps_for(limits::max_ttl), "another");
  EXPECT_EQ(script->last_ttl, limits::max_ttl);
}

TEST_F(CacheDecides, WhatIsNotToBeStoredAnswersAndIsNot) {
  EXPECT_EQ(load_by(&not_stored).value(), "new");
  EXPECT_EQ(script->count("fill"), 0u);
  EXPECT_TRUE(script->entries["k"].claimant.empty());
  EXPECT_EQ(strings->stats().unstorable, 1u);
  EXPECT_EQ(load_by(&not_stored).value(), "new");
  EXPECT_EQ(runs, 1) << "error_back_off is not over";
}

// oxidns#241: a refresh comes to what is not to be stored, and the old entry is served on.
TEST_F(CacheDecides, ARefreshThatIsNotToBeStoredRemovesTheOldEntry) {
  open(framed());
  store_stale();
  EXPECT_EQ(load_by(&not_stored).value(), "old");
  settle();
  EXPECT_FALSE(script->entries["k"].value);
}

TEST_F(CacheDecides, TheLoaderSeesTheOldValue) {
  open(framed());
  store_stale();
  EXPECT_EQ(old_of_load(), "old");
  EXPECT_EQ(stored_text(), "new");
  EXPECT_TRUE(expire());
  EXPECT_EQ(old_of_load(), "new");
}

TEST_F(CacheDecides, AtAMissAndBehindInvalidateThereIsNone) {
  open(framed());
  EXPECT_EQ(old_of_load(), "(none)");
  invalidate();
  EXPECT_EQ(old_of_load(), "(none)");
}

TEST_F(CacheDecides, WhatIsNotModifiedIsKeptWithNewTimes) {
  open(framed());
  store_stale();
  auto const before = stored()->header.created;
  EXPECT_EQ(load_by(&not_modified).value(), "old");
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored_text(), "old");
  EXPECT_GT(stored()->header.created, before + ttl);
  EXPECT_EQ(stored()->header.ttl, ttl);
  EXPECT_EQ(script->last_ttl, ttl + grace);
  EXPECT_EQ(strings->stats().not_modified, 1u);
  EXPECT_EQ(strings->stats().load_errors, 0u);
}

TEST_F(CacheDecides, WhatWasExpiredAndIsNotModifiedIsFreshAgain) {
  open(framed());
  store_entry(header_of(1s));
  EXPECT_TRUE(expire());
  load_by(&not_modified);
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored()->header.state, algo::header_state::filled);
  EXPECT_EQ(stored_text(), "old");
}

TEST_F(CacheDecides, NoSuchThingCanBeKeptToo) {
  open(framed());
  auto header = header_of(ttl + 1s);
  header.content = algo::header_content::nothing;
  script->ttl_left = 100s;
  script->entries["k"].value = runtime::with_header({header, absent{}}, layout::string);
  EXPECT_EQ(old_of_load(), "(nothing)");
  script->entries["k"].value = runtime::with_header({header, absent{}}, layout::string);
  ASSERT_TRUE(run_until([&] {
    load_by(&not_modified);
    return strings->stats().not_modified == 1;
  }));
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored()->header.content, algo::header_content::nothing);
}

TEST_F(CacheDecides, WithNothingThereNotModifiedIsAnErrorThatSaysSo) {
  auto const& c = load_by(&not_modified);
  EXPECT_TRUE(c.failed_with(errc::load_failed));
  EXPECT_NE(c.value().find("no entry is there to be kept"), std::string::npos) << c.value();
}

TEST_F(CacheDecides, WhatWasDecidedBeforeAnExceptionIsNothing) {
  open({.ttl_jitter = 0, .error_back_off = 1s});
  load_by([](of_text& of) -> text {
    of.do_not_store();
    throw std::runtime_error("broken");
  });
  EXPECT_EQ(script->last_back_off, 1s) << "the error is shared as any";
}

TEST_F(CacheDecides, ALoaderOfManyKeysDecidesForEach) {
  open({.ttl_jitter = 0});
  auto load =
      [this](std::vector<of_text>& loads) -> asio::awaitable<std::map<std::string, std::string>> {
    ++runs;
    std::map<std::string, std::string> all;
    for (auto& one : loads) {
      all[one.key().str()] = "new";
      if (one.key().str() == "a") one.set_ttl(5s);
      if (one.key().str() == "b") one.do_not_store();
    }
    co_return all;
  };
  std::vector<result<text>> got;
  strings->async_get_many_or_load({"a", "b"}, load,
                                  [&](std::vector<result<text>> all) { got = std::move(all); });
  settle();
  EXPECT_EQ(runs, 1);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(*got[0], "new");
  EXPECT_EQ(*got[1], "new");
  EXPECT_EQ(script->last_ttl, 5s);
  EXPECT_TRUE(script->entries["a"].value);
  EXPECT_FALSE(script->entries["b"].value);
}

}  // namespace
}  // namespace herdlock::scripted
