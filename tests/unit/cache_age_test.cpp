// A cache whose entries have times of their own: what is stored, what is served at which age, and
// who loads.
#include <herdlock/metrics.hpp>

#include "cache_age_fixture.hpp"

namespace herdlock::scripted {
namespace {

// ----------------------------------------------------------------------------- in the store

TEST_F(CacheAge, ALoadedValueIsStoredWithItsTimesAndForAsLongAsItCanBeStale) {
  open(framed());
  loader.let_go();
  EXPECT_EQ(ask().value(), "loaded");
  ASSERT_TRUE(stored());
  EXPECT_EQ(std::get<std::string>(stored()->value), "loaded");
  auto const header = stored()->header;
  EXPECT_EQ(header.ttl, ttl);
  EXPECT_EQ(header.grace, grace);
  EXPECT_LT(script->time - header.created, 60s) << "by the store's clock";
  EXPECT_EQ(script->last_ttl, ttl + grace);
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(strings->stats().hits, 1u);
}

TEST_F(CacheAge, TheStoresClockIsAskedForOnceAndThenNotForEachRead) {
  open(framed());
  store_entry(header_of(1s));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(script->log, (std::vector<std::string>{"now", "get", "get", "get"}));
}

TEST_F(CacheAge, WithoutTheStoresClockEntriesLastAsLongAsInAPlainCache) {
  open(framed());
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "now" ? fault::refuse : fault::none;
  };
  loader.let_go();
  EXPECT_EQ(ask().value(), "loaded");
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored()->header.created, 0us);
  EXPECT_EQ(script->last_ttl, ttl) << "nobody could tell when it becomes stale";
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(script->count("now"), 1u) << "not for each read";
}

TEST_F(CacheAge, TheFirstPutWaitsForTheStoresClock) {
  open(framed());
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "now" ? fault::delay : fault::none;
  };
  std::optional<result<void>> done;
  strings->async_put("k", "put", herdlock_test::as_result([&](result<void> r) { done = r; }));
  settle();
  EXPECT_FALSE(done);
  script->release_hanging();
  settle();
  ASSERT_TRUE(done && done->has_value());
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored_text(), "put");
  EXPECT_NE(stored()->header.created, 0us);
  EXPECT_EQ(stored()->header.grace, grace);
}

// A load that is quicker than the clock would store a value that has no grace.
TEST_F(CacheAge, TheFirstReadWaitsForTheStoresClock) {
  open(framed());
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "now" ? fault::delay : fault::none;
  };
  loader.let_go();
  call& c = ask();
  EXPECT_EQ(c.answers, 0);
  script->release_hanging();
  settle();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(stored()->header.grace, grace);
}

TEST_F(CacheAge, AStoreThatHangsWhenItIsAskedForItsClockCostsItsTimeoutOnce) {
  open(framed());
  script->script = [](auto&&...) { return fault::hang; };
  loader.let_go();
  call& c = ask();
  script->release_hanging();
  settle();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->log, (std::vector<std::string>{"now"}));
}

TEST_F(CacheAge, APutThatWaitsForTheStoresClockIsNotKeptWhenThatNeverAnswers) {
  open(framed());
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "now" ? fault::hang : fault::none;
  };
  auto mine = std::make_shared<int>();
  std::weak_ptr<int> const kept = mine;
  strings->async_put("k", "put", herdlock_test::as_result([mine](result<void> const&) {}));
  mine.reset();
  settle();
  strings.reset();
  opened.reset();
  settle();
  EXPECT_FALSE(kept.expired());
  script->hanging.clear();
  EXPECT_TRUE(kept.expired());
}

TEST_F(CacheAge, AnEntryOfAPlainCacheIsAMissAndIsOverwritten) {
  open(framed());
  script->entries["k"].value = cache_value("plain");
  loader.let_go();
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(stored_text(), "loaded");
  EXPECT_GE(strings->stats().undecodable, 1u);
  auto const warnings = opened->warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("cannot decode"), std::string::npos) << warnings[0];
  EXPECT_NE(warnings[0].find("format=framed"), std::string::npos) << warnings[0];
}

TEST_F(CacheAge, APlainCacheTakesAFramedEntryForAMissAndOverwritesIt) {
  store_entry(header_of(1s));
  loader.let_go();
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded"));
  EXPECT_GE(strings->stats().undecodable, 1u);
}

TEST_F(CacheAge, AValueThatFitsOnlyWithoutItsHeaderIsNotStored) {
  open(framed());
  loader.value = std::string(limits::max_value_bytes, 'x');
  loader.let_go();
  EXPECT_EQ(ask().value().size(), limits::max_value_bytes);
  EXPECT_EQ(script->count("fill"), 0u);
  EXPECT_EQ(strings->stats().unstorable, 1u);
}

// ------------------------------------------------------------------------- stale, soft_timeout 0

TEST_F(CacheAge, AStaleValueIsTheAnswerAndOneLoadRunsBehindIt) {
  open(framed());
  store_stale();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 1);
  loader.let_go();
  settle();
  EXPECT_EQ(stored_text(), "loaded");
  auto const stats = strings->stats();
  EXPECT_EQ(stats.stale_hits, 3u);
  EXPECT_EQ(stats.hits, 3u);
  EXPECT_EQ(stats.misses, 0u);
  EXPECT_EQ(stats.refreshes, 1u);
  EXPECT_EQ(stats.refused_refreshes, 0u);
}

TEST_F(CacheAge, ALoadBehindAnAnswerWaitsForItsSlotWithNobodyWaitingForIt) {
  auto options = framed();
  options.bounds.max_loads = 1;
  open(options);
  call other;
  load(other, "other");
  settle();
  store_stale();
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 1) << "of the other key";
  loader.let_go();
  settle();
  EXPECT_EQ(other.value(), "loaded");
  EXPECT_EQ(loader.runs, 2);
  EXPECT_EQ(stored_text(), "loaded");
}

TEST_F(CacheAge, ARefreshThatAnotherHasClaimedIsLeftToIt) {
  open(framed());
  store_stale();
  script->entries["k"].claimant = "somebody else";
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(script->count("claim"), 1u);
  EXPECT_EQ(script->count("watch"), 0u);
  EXPECT_EQ(loader.runs, 0);
  EXPECT_EQ(strings->stats().refused_refreshes, 1u);
}

TEST_F(CacheAge, AMissJoinsTheLoadThatBeganBehindAnAnswer) {
  open(framed());
  store_stale();
  EXPECT_EQ(ask().value(), "old");
  script->entries["k"].value.reset();
  call& miss = ask();
  EXPECT_EQ(miss.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(miss.value(), "loaded");
  EXPECT_EQ(loader.runs, 1);
}

TEST_F(CacheAge, WhoeverOnlyLooksTakesAStaleEntryForAMiss) {
  open(framed());
  store_stale();
  std::optional<cached<std::string>> got;
  strings->async_get("k", herdlock_test::as_result(
                              [&](result<cached<std::string>> r) { got = std::move(r).value(); }));
  settle();
  EXPECT_TRUE(got && got->is_miss());
  EXPECT_EQ(script->count("claim"), 0u);
}

TEST_F(CacheAge, ARefreshThatFailedIsTheErrorOfTheNextUnlessAStaleValueIsBetter) {
  for (bool const safe : {false, true}) {
    auto options = framed();
    options.freshness.fail_safe = safe;
    open(options);
    loader.hold();
    loader.error = "database is down";
    store_stale();
    EXPECT_EQ(ask().value(), "old");
    loader.let_go();
    settle();
    call const& next = ask();
    if (safe) {
      EXPECT_EQ(next.value(), "old");
      EXPECT_EQ(script->count("claim"), 1u) << "during the back-off nobody asks to load";
    } else {
      EXPECT_TRUE(next.failed_with(errc::load_failed)) << next.value();
    }
    EXPECT_EQ(script->count("fail"), 1u);
  }
}

TEST_F(CacheAge, WhereClaimsFailAStaleValueIsServedAndNothingIsLoadedBesideTheStore) {
  open(framed());
  store_stale();
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "claim" ? fault::refuse : fault::none;
  };
  loader.let_go();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 0);
  // Nobody misses, so a refresh has to find out that claims work again.
  script->script = nullptr;
  EXPECT_TRUE(run_until([&] { return ask().value() == "loaded"; }));
  EXPECT_EQ(loader.runs, 1);
}

TEST_F(CacheAge, ARefreshWhoseLoaderHangsHoldsUpTheNextForNoLongerThanItsClaim) {
  auto options = framed();
  options.claim_ttl = 30ms;
  options.max_load_time = 10ms;
  open(options);
  store_stale();
  EXPECT_TRUE(run_until([&] {
    EXPECT_EQ(ask().value(), "old");
    return loader.runs == 2;
  }));
}

TEST_F(CacheAge, ARefreshThatWasNotBegunIsCountedOnce) {
  open(framed());
  store_stale();
  script->script = [&](std::string const& verb, std::size_t) {
    return verb == "claim" || script->count("claim") > 0 ? fault::delay : fault::none;
  };
  EXPECT_EQ(ask().value(), "old");
  call other;  // what it reads comes last: the cache is there until then
  load(other, "other");
  settle();
  strings.reset();
  settle();
  script->release_hanging();
  settle();
  EXPECT_TRUE(other.failed_with(errc::canceled));
  EXPECT_EQ(opened->metrics().caches.refused_refreshes, 1u);
}

// --------------------------------------------------------------------------------- early refresh

TEST_F(CacheAge, AnEntryThatIsNearItsEndIsLoadedBehindAnAnswerWhileItIsFresh) {
  auto options = framed();
  options.early_refresh = 1;
  open(options);
  auto header = header_of(1s);
  header.load_time = 100'000h;  // elected, however the dice fall
  store_entry(header);
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 1);
  loader.let_go();
  settle();
  EXPECT_EQ(stored_text(), "loaded");
  EXPECT_EQ(strings->stats().stale_hits, 0u);
}

TEST_F(CacheAge, AnEarlyRefreshFindsThatAnotherHasRefreshedIt) {
  auto options = framed();
  options.early_refresh = 1;
  open(options);
  auto header = header_of(50s);
  header.load_time = 100'000h;
  store_entry(header);
  script->ttl_left = ttl + grace;  // what stands there by now
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 0);
  EXPECT_EQ(strings->stats().refused_refreshes, 1u);
}

// --------------------------------------------------------------------------------- mixed fleets

TEST_F(CacheAge, AStaleEntryWithALongerGraceThanOursIsClaimedAsWhatItIs) {
  auto options = framed();
  options.freshness.grace = 1s;
  open(options);
  auto header = header_of(ttl + 1s);
  store_entry(header);
  auto const left = script->ttl_left;
  script->entries["k"].value.reset();  // missed by the read
  script->script = [&](std::string const& verb, std::size_t) {
    if (verb == "claim" && loader.runs == 0 && !script->entries["k"].value) {
      store_entry(header);
      script->ttl_left = left;
    }
    return fault::none;
  };
  loader.let_go();
  call& c = ask();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->count("claim"), 2u);
}

TEST_F(CacheAge, AnExpiredEntryIsLoadedAnewHoweverMuchTimeItHasLeft) {
  auto short_grace = header_of(1s);
  short_grace.grace = 1s;  // of a cache that keeps for less than the one that expired it
  auto timeless = header_of(1s);
  timeless.created = 0us;
  timeless.grace = 0s;
  auto longest = header_of(-1s);
  longest.grace = limits::max_ttl - ttl;
  for (auto header : {short_grace, timeless, longest}) {
    open(framed());
    loader.hold();
    loader.runs = 0;
    header.state = algo::header_state::expired;
    store_entry(header);
    script->ttl_left = 59s;
    EXPECT_EQ(ask().value(), "old");
    EXPECT_EQ(loader.runs, 1);
    loader.let_go();
    settle();
    EXPECT_EQ(stored_text(), "loaded");
  }
}

// --------------------------------------------------------------------------------------- options

TEST_F(CacheAge, OptionsThatContradictEachOtherAreRefusedByName) {
  auto const refusal = [&](cache_options const& options) -> std::string {
    try {
      cache<std::string> made(*opened, options);
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::invalid_value);
      return e.what();
    }
    return "(taken)";
  };
  auto const has = [](std::string const& text, char const* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(has(refusal({.freshness = {.grace = 1s}}), "freshness.grace: needs format"));
  EXPECT_TRUE(has(refusal({.freshness = {.fail_safe = true}}), "freshness.fail_safe: needs"));
  EXPECT_TRUE(has(refusal({.freshness = {.soft_timeout = 1s}}), "freshness.soft_timeout: needs"));
  EXPECT_TRUE(has(refusal({.freshness = {.max_error_back_off = 1s}}),
                  "freshness.max_error_back_off: needs format"));
  auto options = framed();
  options.freshness.grace = 0s;
  options.freshness.fail_safe = true;
  EXPECT_TRUE(has(refusal(options), "freshness.fail_safe: needs a freshness.grace"));
  options.freshness.fail_safe = false;
  options.freshness.soft_timeout = 1s;
  EXPECT_TRUE(has(refusal(options), "freshness.soft_timeout: needs a freshness.grace"));
  options = framed();
  options.freshness.soft_timeout = options.wait;
  EXPECT_TRUE(has(refusal(options), "freshness.soft_timeout: use less than wait"));
  options.freshness.soft_timeout = wait_forever;
  EXPECT_TRUE(has(refusal(options), "wait_forever needs freshness.fail_safe"));
  options = framed();
  options.early_refresh = 10.5;
  EXPECT_TRUE(has(refusal(options), "early_refresh: use 0 to 10"));
  options = framed();
  options.freshness.max_error_back_off = 10ms;
  EXPECT_TRUE(has(refusal(options), "freshness.max_error_back_off: use"));
  options = framed();
  options.freshness.grace = limits::max_ttl;
  EXPECT_TRUE(has(refusal(options), "freshness.grace: together with ttl"));
  EXPECT_EQ(refusal(failing_safe()), "(taken)");
  EXPECT_THROW(cache<std::string>(*opened, *opened, framed()), error);
}

}  // namespace
}  // namespace herdlock::scripted
