// A hot key that is kept near, over a scripted store whose server pushes changes: who loads it anew
// before its entry ends, who waits for that, and what he has when it comes to nothing.
#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheHotRefresh : public CacheTest {
 protected:
  CacheHotRefresh() {
    tracks = true;
    open_with({});
  }

  static cache_options with_hot_keys(cache_options options) {
    options.ttl = 40s;
    options.ttl_jitter = 0;
    options.prefix = "p:";
    options.hot.keys = hot_keys_options{.threshold = 10, .min_reads = 5, .reads_per_write = 0};
    return options;
  }
  void open_with(cache_options const& options) {
    open(with_hot_keys(options));
    script->entries["p:k"].value = cache_value("there");
  }

  std::string ask(std::string_view key = "k") {
    call c;
    load(c, key);
    settle();
    return c.value();
  }
  void keep_it() {
    ASSERT_TRUE(run_until([&] {
      ask();
      return strings->stats().near_hits > 0;
    }));
  }
  /// What the next read finds is about to end: less is left to it than a tenth of its ttl.
  void bring_it_near_its_end(milliseconds left = 3900ms) {
    script->ttl_left = left;
    tracking->push("p:k");
  }
  void keep_it_near_its_end(milliseconds left = 3900ms) {
    keep_it();
    bring_it_near_its_end(left);
  }
  /// It asks for its claim, whose answer waits for release_claims().
  void load_with_claim_delayed(call& one) {
    delay_claims();
    load(one);
    settle();
  }
  void delay_claims() {
    script->script = [](std::string const& verb, std::size_t) {
      return verb == "claim" ? fault::delay : fault::none;
    };
  }
  void release_claims() {
    script->script = nullptr;
    script->release_hanging();
    settle();
  }
};

TEST_F(CacheHotRefresh, TheCallThatLoadsItAnewWaitsAndNobodyElse) {
  keep_it_near_its_end();
  call first;
  load(first);
  settle();
  EXPECT_EQ(first.value(), "(no answer)");
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(ask(), "there");
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "loaded");
  EXPECT_EQ(strings->stats().refreshes, 1u);
  EXPECT_EQ(strings->stats().refused_refreshes, 0u);
}

TEST_F(CacheHotRefresh, WithEarlyRefreshNobodyWaits) {
  open_with({.early_refresh = 1});
  keep_it_near_its_end();
  EXPECT_EQ(ask(), "there");
  EXPECT_TRUE(run_until([&] { return loader.runs == 1; }));
  loader.let_go();
}

// A tenth of the cache's own ttl is more than all that it has.
TEST_F(CacheHotRefresh, AShortTtlThatTheLoaderSetDoesNotMakeTheEntryEarlyAllTheTime) {
  open(with_hot_keys({.format = cache_format::framed}));
  algo::entry_header header{.created = script->time, .load_time = 1ms, .ttl = 3900ms};
  script->ttl_left = header.ttl;
  script->entries["p:k"].value =
      runtime::with_header({std::move(header), cache_value("there")}, layout::string);
  keep_it();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(), "there");
  EXPECT_EQ(loader.runs, 0);
  EXPECT_EQ(strings->stats().refreshes, 0u);
}

TEST_F(CacheHotRefresh, WhereAnotherProcessIsAtItNobodyWaits) {
  keep_it_near_its_end();
  script->entries["p:k"].claimant = "another";
  EXPECT_EQ(ask(), "there");
  EXPECT_EQ(loader.runs, 0);
  EXPECT_EQ(strings->stats().refused_refreshes, 1u);
}

TEST_F(CacheHotRefresh, WhereClaimsFailItIsNotLoadedWithoutOne) {
  keep_it_near_its_end();
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "claim" ? fault::refuse : fault::none;
  };
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(), "there");
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheHotRefresh, WhereAllSlotsAreTakenNobodyWaits) {
  open_with({.bounds = {.max_loads = 1}});
  keep_it();
  call other;
  load(other, "missing");
  settle();
  bring_it_near_its_end();
  EXPECT_EQ(ask(), "there");
  EXPECT_EQ(loader.runs, 1) << "for the other key";
  loader.let_go();
  EXPECT_TRUE(run_until([&] { return other.got.has_value(); }));
}

TEST_F(CacheHotRefresh, WhenItsLoadFailsTheCallHasTheOldValue) {
  keep_it_near_its_end();
  loader.error = "no database";
  loader.let_go();
  call first;
  load(first);
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "there");
  EXPECT_EQ(strings->stats().load_errors, 1u);
  EXPECT_EQ(ask(), "there");
}

// What it had is no answer for longer than its entry is there.
TEST_F(CacheHotRefresh, WhenItsLoadFailsAfterTheEntrysEndTheCallHasTheError) {
  keep_it_near_its_end(time_to_begin);
  loader.error = "no database";
  call first;
  load(first);
  settle();
  ASSERT_EQ(loader.runs, 1);
  auto const ended = clock::now() + time_to_begin;
  ASSERT_TRUE(run_until([&] { return clock::now() >= ended; }));
  EXPECT_EQ(first.value(), "(no answer)");
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_TRUE(first.failed_with(errc::load_failed)) << first.value();
}

TEST_F(CacheHotRefresh, AtItsDeadlineAfterTheEntrysEndTheCallHasNoValue) {
  open_with({.wait = 2 * time_to_begin});
  keep_it_near_its_end(time_to_begin);
  loader.heeds = true;
  call first;
  load(first);
  settle();
  ASSERT_EQ(loader.runs, 1);
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_TRUE(first.failed_with(errc::timed_out)) << first.value();
  loader.let_go();
}

TEST_F(CacheHotRefresh, WhereAnotherIsAtItAfterTheEntrysEndTheCallWaitsAsAtAMiss) {
  keep_it_near_its_end(time_to_begin);
  call first;
  load_with_claim_delayed(first);
  ASSERT_EQ(script->count("claim"), 1u);
  auto const ended = clock::now() + time_to_begin;
  ASSERT_TRUE(run_until([&] { return clock::now() >= ended; }));
  auto& entry = script->entries["p:k"];
  entry.value.reset();
  entry.claimant = "another";
  release_claims();
  EXPECT_EQ(first.value(), "(no answer)");
  entry.claimant.clear();
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "loaded");
  EXPECT_EQ(loader.runs, 1);
}

// What it had is no answer behind a put; nothing was closed, either.
TEST_F(CacheHotRefresh, APutWhileItsClaimIsOnItsWayLetsTheCallWaitForAnothersLoad) {
  keep_it_near_its_end();
  call first;
  load_with_claim_delayed(first);
  ASSERT_EQ(script->count("claim"), 1u);
  strings->async_put("k", "put", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  script->entries["p:k"].claimant = "another";
  release_claims();
  EXPECT_EQ(first.value(), "(no answer)");
  script->ttl_left = 40s;
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "put");
  EXPECT_EQ(loader.runs, 0);
}

// A loader may refer to what its call's function has: it does not begin behind that.
TEST_F(CacheHotRefresh, ACallThatIsCancelledBeforeItsLoadBeganLeavesNoLoad) {
  keep_it_near_its_end();
  call first;
  load_with_claim_delayed(first);
  first.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_TRUE(first.failed_with(errc::canceled));
  release_claims();
  EXPECT_EQ(loader.runs, 0);
  EXPECT_TRUE(script->entries["p:k"].claimant.empty()) << "given back";
}

TEST_F(CacheHotRefresh, WhoComesBehindACallThatWasCancelledDoesNotJoinItsClaim) {
  keep_it_near_its_end();
  call first;
  load_with_claim_delayed(first);
  first.cancel.emit(asio::cancellation_type::terminal);
  settle();
  script->entries["p:k"].value.reset();
  tracking->push("p:k");
  call second;
  load(second);
  settle();
  EXPECT_EQ(script->count("claim"), 2u);
  EXPECT_EQ(strings->stats().joined, 0u);
  loader.let_go();
  release_claims();
  ASSERT_TRUE(run_until([&] { return second.got.has_value(); }));
  EXPECT_EQ(second.value(), "loaded");
}

TEST_F(CacheHotRefresh, AtItsDeadlineTheCallHasTheOldValueAndLeavesNoLoad) {
  open_with({.wait = 100ms});
  keep_it_near_its_end();
  delay_claims();
  call first;
  load(first);
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "there");
  release_claims();
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheHotRefresh, APutMeanwhileIsWhatOthersGetAndTheCallHasItsLoad) {
  keep_it_near_its_end();
  call first;
  load(first);
  settle();
  ASSERT_EQ(loader.runs, 1);
  strings->async_put("k", "put", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  script->ttl_left = 40s;
  tracking->push("p:k");
  EXPECT_EQ(ask(), "put");
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "loaded");
  EXPECT_EQ(ask(), "put");
}

TEST_F(CacheHotRefresh, ACacheThatGoesMeanwhileLeavesTheCallWhatItHas) {
  keep_it_near_its_end();
  loader.heeds = true;
  call first;
  load(first);
  settle();
  strings.reset();
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  EXPECT_EQ(first.value(), "there");
}

// Who is let through to the store while a value is kept has that when the store fails.
TEST_F(CacheHotRefresh, AReadThatFailsIsAnsweredByWhatIsKept) {
  keep_it_near_its_end();
  script->entries["p:k"].claimant = "another";
  EXPECT_EQ(ask(), "there");
  auto const reads = tracking->reads;
  script->script = [](std::string const&, std::size_t) { return fault::refuse; };
  ASSERT_TRUE(run_until([&] {
    EXPECT_EQ(ask(), "there");
    return tracking->reads > reads;
  }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(), "there");
  EXPECT_EQ(loader.runs, 0);
}

// H5: what cannot be kept costs more than a plain read.
TEST_F(CacheHotRefresh, AHotKeyThatCannotBeKeptIsReadAsAnyOther) {
  keep_it();
  ASSERT_TRUE(run_until([&] {
    call c;
    strings->async_get("none", herdlock_test::as_result([](result<cached<std::string>> const&) {}));
    settle();
    return strings->hot_stats().hot == 2;
  }));
  auto const tracked = tracking->reads;
  auto const all = script->count("get");
  for (int i = 0; i < 1000; ++i) {
    strings->async_get("none", herdlock_test::as_result([](result<cached<std::string>> const&) {}));
    settle();
  }
  EXPECT_EQ(script->count("get"), all + 1000);
  EXPECT_LE(tracking->reads, tracked + 100);
}

TEST_F(CacheHotRefresh, WithoutAHotKeyTheServerIsAskedForNothing) {
  EXPECT_EQ(ask(), "there");
  EXPECT_EQ(tracking->listeners, 0u);
  keep_it();
  EXPECT_EQ(tracking->listeners, 1u);
}

TEST_F(CacheHotRefresh, NobodyIsWarnedOfAServerThatRefusesWhatWasNotAskedFor) {
  tracking->refuses = true;
  ASSERT_TRUE(run_until([&] {
    ask();
    return tracking->listeners == 1;
  }));
  ask();
  EXPECT_TRUE(opened->warnings().empty()) << opened->warnings().front();
  EXPECT_EQ(strings->stats().near_inserts, 0u);
}

TEST_F(CacheHotRefresh, OneIsWarnedWhoHasPinnedAKey) {
  tracking->refuses = true;
  strings->pin("k");
  EXPECT_TRUE(run_until([&] { return !opened->warnings().empty(); }));
}

// Its hits are not seen one by one.
TEST_F(CacheHotRefresh, AKeyThatWasForgottenIsFoundAgainByHitsOfWhatIsKept) {
  auto options = with_hot_keys({.near = {.mode = near_cache::all}});
  options.hot.keys->window = 100ms;
  options.hot.keys->threshold = 100;
  open(options);
  script->entries["p:k"].value = cache_value("there");
  keep_it();
  ASSERT_TRUE(run_until([&] { return strings->hot_stats().known == 0; }));
  EXPECT_TRUE(run_until([&] {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(*strings->get("k"), "there");
    return strings->hot_stats().hot == 1;
  }));
}

TEST_F(CacheHotRefresh, WhatWeHaveLoadedOrWrittenOurselvesCountsOnce) {
  keep_it_near_its_end();
  loader.let_go();
  call first;
  load(first);
  ASSERT_TRUE(run_until([&] { return first.got.has_value(); }));
  tracking->push("p:k");
  EXPECT_EQ(strings->hot_stats().writes, 1u) << "the push that brought it near its end";
  strings->async_put("k", "put", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  tracking->push("p:k");
  EXPECT_EQ(strings->hot_stats().writes, 2u);
  tracking->push("p:k");
  EXPECT_EQ(strings->hot_stats().writes, 3u) << "of another";
}

}  // namespace
}  // namespace herdlock::scripted
