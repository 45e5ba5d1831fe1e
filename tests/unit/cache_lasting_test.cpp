// Entries that do not end by themselves: how long they are stored, their schedule, their bounds.
#include "cache_age_fixture.hpp"

namespace herdlock::scripted {
namespace {

class CacheLasting : public CacheAge {
 protected:
  static cache_options scheduled() {
    return {.ttl = lasting,
            .ttl_jitter = 0,
            .format = cache_format::framed,
            .lasting = {.refresh_every = 20ms}};
  }

  void load_counted(std::string const& key) {
    auto counted = [this, key](load_context const&) -> asio::awaitable<text> {
      ++runs[key];
      co_return "loaded " + std::to_string(runs[key]);
    };
    strings->async_get_or_load(key, counted,
                               herdlock_test::as_result(calls.emplace_back().token()));
    settle();
  }
  result<void> put(std::string const& key, std::string value) {
    result<void> done = make_failure(errc::canceled, "not done");
    strings->async_put(key, std::move(value),
                       herdlock_test::as_result([&](result<void> r) { done = std::move(r); }));
    settle();
    return done;
  }
  /// The loads that `counted` counts from here on; a schedule may have come round before.
  static auto loads_since_now(int const& counted) {
    return [&counted, before = counted] { return counted - before; };
  }
  /// The schedule of a key that nobody disturbs has come round so often since.
  bool rounds_pass(int rounds) {
    int const before = runs["undisturbed"];
    return run_until([&] { return runs["undisturbed"] >= before + rounds; });
  }

  std::map<std::string, int> runs;
};

TEST_F(CacheLasting, AnEntryIsStoredForAYearAndIsStaleWhenItsRefreshIsDue) {
  auto options = scheduled();
  options.lasting.refresh_every = 1h;
  open(options);
  loader.let_go();
  ask();
  EXPECT_EQ(stored()->header.ttl, 1h);
  EXPECT_GT(script->last_ttl, 364 * 24h);

  open({.ttl = lasting});
  loader.let_go();
  ask();
  EXPECT_EQ(script->last_ttl, limits::max_ttl);
}

TEST_F(CacheLasting, ThatThereIsNoSuchThingDoesNotLast) {
  auto options = scheduled();
  options.negative_ttl = 3s;
  open(options);
  loader.value = std::nullopt;
  loader.let_go();
  ask();
  EXPECT_EQ(script->last_ttl, 3s);
  EXPECT_EQ(strings->stats().lasting_entries, 0u);
}

TEST_F(CacheLasting, TheLoaderRunsOnItsScheduleThoughNobodyAsks) {
  open(scheduled());
  load_counted("k");
  EXPECT_TRUE(run_until([&] { return runs["k"] >= 3; }));
  EXPECT_TRUE(run_until([&] { return stored_text() == "loaded " + std::to_string(runs["k"]); }));
  EXPECT_EQ(strings->stats().hits, 0u);
  EXPECT_EQ(strings->stats().misses, 1u);
  EXPECT_GE(strings->stats().refreshes, 2u);
}

TEST_F(CacheLasting, ALoaderThatFailedRunsOnItsScheduleAgain) {
  auto options = scheduled();
  options.freshness.fail_safe = true;
  options.error_back_off = 10ms;
  open(options);
  loader.let_go();
  EXPECT_EQ(ask().value(), "loaded");
  loader.error = "the database is down";
  EXPECT_TRUE(run_until([&] {
    script->entries["k"].error.clear();  // its back-off ends
    return loader.runs >= 3;
  }));
  loader.error.clear();
  loader.value = "newer";
  EXPECT_TRUE(run_until([&] {
    script->entries["k"].error.clear();
    return stored_text() == "newer";
  }));
}

TEST_F(CacheLasting, ALoaderThatHangsIsNotCalledBesideItself) {
  open(scheduled());
  load_counted("undisturbed");
  loader.let_go();
  ask();
  loader.hold();
  auto const loads = loads_since_now(loader.runs);
  EXPECT_TRUE(run_until([&] { return loads() == 1; }));
  EXPECT_TRUE(rounds_pass(4));
  EXPECT_EQ(loads(), 1);
  loader.let_go();
  EXPECT_TRUE(run_until([&] { return loads() >= 3; }));
}

TEST_F(CacheLasting, ALoaderThatHangsIsNotCalledBesideItselfWhenItHasLostItsClaim) {
  auto options = scheduled();
  options.max_load_time = 10ms;
  open(options);
  load_counted("undisturbed");
  loader.let_go();
  ask();
  loader.hold();
  auto const loads = loads_since_now(loader.runs);
  EXPECT_TRUE(run_until([&] { return loads() == 1 && loader.last->stop().stop_requested(); }));
  script->entries["k"].claimant.clear();  // it has ended
  EXPECT_TRUE(rounds_pass(4));
  EXPECT_EQ(loads(), 1);
}

// R21: an old value must not be served for ever because the new one is too large.
TEST_F(CacheLasting, AValueThatHasGrownBeyondTheBoundTakesTheOldOneAway) {
  auto options = scheduled();
  options.lasting.max_bytes = 10;
  options.error_back_off = 10min;
  open(options);
  loader.value = "small";
  loader.let_go();
  EXPECT_EQ(ask().value(), "small");
  loader.value = "larger than ten bytes";
  EXPECT_TRUE(run_until([&] { return !script->entries["k"].value; }));
  EXPECT_EQ(ask().value(), "larger than ten bytes");
  EXPECT_EQ(loader.runs, 2);
  EXPECT_EQ(strings->stats().lasting_entries, 0u);
  EXPECT_EQ(script->entries["k"].claimant, "");
}

TEST_F(CacheLasting, WhatAnotherProcessHasRefreshedIsNotLoaded) {
  open(scheduled());
  load_counted("undisturbed");
  load_counted("k");
  store_entry(header_of(0ms), "another's");
  auto const loads = loads_since_now(runs["k"]);
  EXPECT_TRUE(rounds_pass(4));
  EXPECT_EQ(loads(), 0);
  EXPECT_EQ(stored_text(), "another's");
}

TEST_F(CacheLasting, WhatWasInvalidatedOrIsGoneIsNotLoadedByTheSchedule) {
  open(scheduled());
  load_counted("undisturbed");
  load_counted("k");
  load_counted("gone");
  EXPECT_EQ(strings->stats().lasting_entries, 3u);
  invalidate();
  script->entries.erase("gone");
  auto const loads = loads_since_now(runs["k"]);
  auto const loads_of_the_gone = loads_since_now(runs["gone"]);
  EXPECT_TRUE(rounds_pass(4));
  EXPECT_EQ(loads(), 0);
  EXPECT_EQ(loads_of_the_gone(), 0);
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
}

// The loader is not kept for what another process stores under the key later on.
TEST_F(CacheLasting, AnInvalidateEndsTheScheduleThoughAnotherStoresTheKeyAnew) {
  open(scheduled());
  load_counted("undisturbed");
  load_counted("k");
  invalidate();
  auto const loads = loads_since_now(runs["k"]);
  store_entry(header_of(ttl + 1s), "another's");
  EXPECT_TRUE(rounds_pass(4));
  EXPECT_EQ(loads(), 0);
}

TEST_F(CacheLasting, AnEntryThatWasMissedHasNoScheduleThoughAnotherStoresItAnew) {
  open(scheduled());
  load_counted("undisturbed");
  load_counted("k");
  script->entries.erase("k");
  auto const loads = loads_since_now(runs["k"]);
  EXPECT_TRUE(run_until([&] { return strings->stats().lasting_entries == 1; }));
  store_entry(header_of(ttl + 1s), "another's");
  EXPECT_TRUE(rounds_pass(4));
  EXPECT_EQ(loads(), 0);
}

TEST_F(CacheLasting, WhatIsPutIsRefreshedByTheSchedule) {
  open(scheduled());
  load_counted("k");
  EXPECT_TRUE(put("k", "put").has_value());
  EXPECT_EQ(script->count("put"), 1u);
  auto const loaded = [this] { return "loaded " + std::to_string(runs["k"]); };
  EXPECT_TRUE(stored_text() == "put" || (runs["k"] > 1 && stored_text() == loaded()));
  auto const loads = loads_since_now(runs["k"]);
  EXPECT_TRUE(run_until([&] { return loads() >= 1 && stored_text() == loaded(); }));
}

TEST_F(CacheLasting, PutIsRefusedByNameBeyondTheBoundOfBytes) {
  open({.prefix = "p:", .ttl = lasting, .lasting = {.max_bytes = 5'000'000}});
  std::string const value(10'000, 'x');
  for (int i = 0; i < 500; ++i) ASSERT_TRUE(put(std::to_string(i), value).has_value());
  auto const refused = put("the 501st", value);
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error(), errc::overloaded);
  EXPECT_NE(refused.error().message.find("p:the 501st"), std::string::npos);
  EXPECT_NE(refused.error().message.find("lasting.max_bytes (5000000)"), std::string::npos);
  EXPECT_EQ(script->count("put"), 500u);
  EXPECT_EQ(strings->stats().lasting_bytes, 5'000'000u);

  EXPECT_TRUE(put("0", value).has_value()) << "in place of its own";
  strings->async_invalidate("0", herdlock_test::as_result([](result<bool> const&) {}));
  settle();
  EXPECT_TRUE(put("the 501st", value).has_value());
}

TEST_F(CacheLasting, ALoadedValueBeyondTheBoundOfEntriesAnswersAndIsNotStored) {
  open({.ttl = lasting, .error_back_off = 10min, .lasting = {.max_entries = 2}});
  for (std::string const key : {"a", "b", "c", "c"}) load_counted(key);
  EXPECT_EQ(calls.back().value(), "loaded 1") << "and not by each caller";
  EXPECT_FALSE(script->entries["c"].value);
  EXPECT_EQ(script->entries["c"].claimant, "") << "the claim is given up";
  EXPECT_EQ(strings->stats().unstorable, 1u);
  EXPECT_EQ(strings->stats().lasting_entries, 2u);
  EXPECT_NE(strings->last_store_error().message.find("lasting.max_entries (2)"), std::string::npos);
}

TEST_F(CacheLasting, WhatIsLoadedWithoutTheStoreDoesNotCount) {
  open({.ttl = lasting});
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "claim" ? fault::refuse : fault::none;
  };
  load_counted("k");
  EXPECT_EQ(calls.back().value(), "loaded 1");
  EXPECT_EQ(strings->stats().lasting_entries, 0u);
}

TEST_F(CacheLasting, TheLoadersGoWithTheCache) {
  open(scheduled());
  auto mine = std::make_shared<int>();
  std::weak_ptr<int> const kept = mine;
  auto owning = [mine](load_context const&) -> asio::awaitable<text> { co_return "loaded"; };
  mine.reset();
  strings->async_get_or_load("k", owning, herdlock_test::as_result(calls.emplace_back().token()));
  settle();
  EXPECT_FALSE(kept.expired());
  strings.reset();
  settle();
  EXPECT_EQ(kept.use_count(), 1) << "this test's own";
}

TEST_F(CacheLasting, TheScheduleEndsWithTheStoreThoughTheCacheStays) {
  open(scheduled());
  load_counted("k");
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
  opened->async_close(herdlock_test::as_result([](result<void> const&) {}));
  EXPECT_TRUE(run_until([&] { return strings->stats().lasting_entries == 0; }));
}

TEST_F(CacheLasting, ContradictingOptionsAreRefusedByName) {
  auto const refusal_of = [this](cache_options const& options) -> std::string {
    try {
      cache<std::string> const one(*opened, options);
      return "(taken)";
    } catch (error const& e) {
      return e.what();
    }
  };
  constexpr auto framed = cache_format::framed;
  EXPECT_NE(
      refusal_of({.format = framed, .lasting = {.refresh_every = 1s}}).find("needs ttl = lasting"),
      std::string::npos);
  EXPECT_NE(refusal_of({.ttl = lasting, .lasting = {.refresh_every = 1s}})
                .find("lasting.refresh_every: needs format"),
            std::string::npos);
  EXPECT_NE(refusal_of({.ttl = lasting, .format = framed, .freshness = {.grace = 1s}})
                .find("freshness.grace"),
            std::string::npos);
  EXPECT_NE(refusal_of({.ttl = lasting, .format = framed, .early_refresh = 1}).find("early_ref"),
            std::string::npos);
  EXPECT_NE(refusal_of({.ttl = lasting, .format = framed, .freshness = {.fail_safe = true}})
                .find("freshness.fail_safe"),
            std::string::npos);
  for (milliseconds const every : {milliseconds(-1ms), milliseconds(9ms), milliseconds::max(),
                                   std::chrono::duration_cast<milliseconds>(90 * 24h + 1ms)}) {
    auto options = scheduled();
    options.lasting.refresh_every = every;
    EXPECT_NE(refusal_of(options).find("lasting.refresh_every"), std::string::npos)
        << every.count();
  }
  auto options = scheduled();
  options.lasting.refresh_every = 90 * 24h;
  EXPECT_EQ(refusal_of(options), "(taken)");
  EXPECT_NE(refusal_of({.ttl = lasting, .lasting = {.max_bytes = 0}}).find("lasting.max_bytes"),
            std::string::npos);
  EXPECT_NE(refusal_of({.ttl = lasting, .lasting = {.max_entries = 0}}).find("lasting.max_entries"),
            std::string::npos);
}

}  // namespace
}  // namespace herdlock::scripted
