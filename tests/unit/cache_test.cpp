// The guarded cache over a store that does what it should: looks, loads, joins, waits, voids.
#include <deque>

#include <herdlock/metrics.hpp>

#include "cache_fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;
using verbs = std::vector<std::string>;

// S10
TEST_F(CacheTest, AHitIsOnePlainGet) {
  script->entries["k"].value = cache_value("stored");
  call c;
  load(c);
  EXPECT_EQ(c.answers, 0) << "completed inside the call";
  settle();
  EXPECT_EQ(c.value(), "stored");
  EXPECT_EQ(script->log, verbs{"get"});
  EXPECT_EQ(strings->stats().hits, 1u);
}

TEST_F(CacheTest, TheStoreCountsForAllItsCachesAlsoForThoseThatHaveGone) {
  std::optional<cache<std::string>> second(*opened);
  script->entries["k"].value = cache_value("stored");
  call hit;
  load(hit);
  call miss;
  second->async_get_or_load(cache_key("other"), loader_by_reference(),
                            herdlock_test::as_result(miss.token()));
  settle();
  EXPECT_EQ(opened->metrics().load_time.count(), 0u) << "it runs still";
  loader.let_go();
  settle();
  auto const both = opened->metrics();
  EXPECT_EQ(both.caches.hits, 1u);
  EXPECT_EQ(both.caches.misses, 1u);
  EXPECT_EQ(both.caches.loads, 1u);
  EXPECT_EQ(both.load_time.count(), 1u);
  second.reset();
  settle();
  EXPECT_EQ(opened->metrics().caches.loads, 1u);
  EXPECT_EQ(opened->metrics().load_time.count(), 1u);
  EXPECT_EQ(opened->metrics().caches.hits, 1u);
}

TEST_F(CacheTest, ANegativeEntryIsNothingWithoutALoad) {
  script->entries["k"].value = cache_value(absent{});
  call c;
  load(c);
  settle();
  EXPECT_EQ(c.value(), "(nothing)");
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheTest, CallersOfOneTurnShareAReadAndLaterOnesSendTheirOwn) {
  script->entries["k"].value = cache_value("stored");
  std::deque<call> calls(4);
  for (int i = 0; i < 3; ++i) load(calls[i]);
  script->script = [&](std::string const&, std::size_t) {
    // The read is being sent: whoever comes now must not share it.
    if (script->log.size() == 1) load(calls[3]);
    return fault::none;
  };
  settle();
  for (auto const& c : calls) EXPECT_EQ(c.value(), "stored");
  EXPECT_EQ(script->log, (verbs{"get", "get"}));
}

TEST_F(CacheTest, AMissIsClaimedLoadedAndFilled) {
  call c;
  load(c);
  settle();
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(loader.last->key().str(), "k");
  EXPECT_EQ(loader.last->fencing().value, 1u);
  EXPECT_EQ(c.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->log, (verbs{"get", "claim", "fill"}));
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded"));
  EXPECT_GE(script->last_ttl, 269s);
  EXPECT_LE(script->last_ttl, 331s);
}

TEST_F(CacheTest, NothingBecomesANegativeEntryOfItsOwnTtl) {
  loader.value.reset();
  loader.let_go();
  call c;
  load(c);
  settle();
  EXPECT_EQ(c.value(), "(nothing)");
  EXPECT_EQ(script->entries["k"].value, cache_value(absent{}));
  EXPECT_LE(script->last_ttl, 11s);
}

TEST_F(CacheTest, TenThousandCallersOfARunningLoadSendNothingAndAreAllAnsweredOnce) {
  open({.claim_ttl = 10min});  // so that none is extended meanwhile
  std::deque<call> calls(10'000);
  load(calls[0]);
  settle();
  for (std::size_t i = 1; i < calls.size(); ++i) load(calls[i]);
  settle();
  EXPECT_EQ(script->log, (verbs{"get", "claim"}));
  loader.let_go();
  settle();
  for (auto const& c : calls) ASSERT_EQ(c.answers, 1);
  EXPECT_EQ(calls.back().value(), "loaded");
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(strings->stats().joined, 9'999u);
}

// S7
TEST_F(CacheTest, TheFirstCallersCancellationLeavesTheLoadToTheOthers) {
  call first, second;
  load(first);
  settle();
  load(second);
  settle();
  first.cancel.emit(asio::cancellation_type::total);
  settle();
  EXPECT_EQ(first.answers, 0) << "what it was given is in use";
  EXPECT_FALSE(loader.last->stop().stop_requested()) << "another waits for it";
  loader.let_go();
  settle();
  EXPECT_EQ(first.answers, 1);
  EXPECT_EQ(first.value(), "loaded");
  EXPECT_EQ(second.value(), "loaded");
}

TEST_F(CacheTest, EveryCancellationTypeIsHonouredInEveryPhase) {
  for (auto type : {asio::cancellation_type::total, asio::cancellation_type::partial,
                    asio::cancellation_type::terminal}) {
    for (int phase = 0; phase < 3; ++phase) {
      open({});
      if (phase == 1) script->script = [](auto&&...) { return fault::hang; };
      call c;
      load(c, "phase");
      if (phase > 0) settle();  // 0: not sent yet; 1: reading; 2: loading
      loader.heeds = true;
      c.cancel.emit(type);
      settle();
      EXPECT_TRUE(c.failed_with(errc::canceled)) << phase;
      script->release_hanging();
      settle();
      EXPECT_EQ(c.answers, 1) << phase;
    }
  }
}

// S7
TEST_F(CacheTest, ALoaderThatOutlivesEverybodyStillFills) {
  open({.wait = time_to_begin});
  call c;
  load(c);
  ASSERT_TRUE(run_until([&] { return loader.last && loader.last->stop().stop_requested(); }));
  EXPECT_EQ(c.answers, 0);
  EXPECT_EQ(loader.runs, 1);
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded"));
}

// S5
TEST_F(CacheTest, AFailedLoadAnswersAllWithTheLoadersTextAndIsShared) {
  loader.error = "database is on fire";
  call first, second;
  load(first);
  load(second);
  settle();
  loader.let_go();
  settle();
  for (call* c : {&first, &second}) {
    EXPECT_TRUE(c->failed_with(errc::load_failed));
    EXPECT_EQ(c->value(), "error: database is on fire");
  }
  EXPECT_EQ(script->last_back_off, 1s);
  call third;
  load(third);
  settle();
  EXPECT_EQ(third.value(), "error: database is on fire");
  EXPECT_EQ(loader.runs, 1);
}

TEST_F(CacheTest, AKeyThatIsLoadedElsewhereIsAskedForAgainUntilItIsThere) {
  script->entries["k"].claimant = "somebody";
  call c;
  load(c);
  ASSERT_TRUE(run_until([&] { return script->count("claim") >= 3; }));
  script->entries["k"] = {cache_value("theirs"), "", ""};
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "theirs");
  EXPECT_EQ(loader.runs, 0);
}

// S2
TEST_F(CacheTest, TheClaimOfADeadLoaderIsTakenOver) {
  script->entries["k"].claimant = "dead";
  loader.let_go();
  call c;
  load(c);
  ASSERT_TRUE(run_until([&] { return script->count("claim") >= 2; }));
  script->entries["k"].claimant.clear();  // it expired
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "loaded");
}

// S4
TEST_F(CacheTest, AStoreThatPushesAnswersTheWatchers) {
  open({}, {.pushes_fills = true});
  script->watches = true;
  script->entries["k"].claimant = "somebody";
  call c;
  load(c);
  settle();
  ASSERT_EQ(script->watchers.size(), 1u);
  std::move(script->watchers.front())(watch_reply(cache_hit{cache_value("pushed")}));
  script->watchers.clear();
  settle();
  EXPECT_EQ(c.value(), "pushed");
  EXPECT_EQ(script->count("claim"), 1u);
}

TEST_F(CacheTest, AWatchIsCancelledWhenEveryoneLeft) {
  open({}, {.pushes_fills = true});
  script->watches = true;
  script->entries["k"].claimant = "somebody";
  call c;
  load(c);
  settle();
  bool told = false;
  asio::get_associated_cancellation_slot(script->watchers.front())
      .assign([&](asio::cancellation_type) { told = true; });
  c.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_TRUE(told);
}

// S3
TEST_F(CacheTest, ALoaderSlowerThanItsClaimIsExtendedAndStored) {
  open({.claim_ttl = 600ms});
  call c;
  load(c);
  ASSERT_TRUE(run_until([&] { return script->count("extend") >= 4; }));
  EXPECT_FALSE(loader.last->stop().stop_requested());
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded"));
}

// S6
TEST_F(CacheTest, ALoaderWhoseClaimWasTakenIsToldAndStoresNothing) {
  open({.claim_ttl = 30ms});
  call c;
  load(c);
  settle();
  script->entries["k"] = {cache_value("newer"), "", ""};
  ASSERT_TRUE(run_until([&] { return loader.last->stop().stop_requested(); }));
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "loaded") << "its own callers are answered";
  EXPECT_EQ(script->entries["k"].value, cache_value("newer"));
  EXPECT_EQ(strings->stats().superseded, 1u);
}

// S6
TEST_F(CacheTest, APutVoidsTheRunningLoadAndNewCallersDoNotJoinIt) {
  call before, after;
  load(before);
  settle();
  std::optional<result<void>> put;
  strings->async_put(cache_key("k"), "newer",
                     herdlock_test::as_result([&](result<void> r) { put.emplace(std::move(r)); }));
  settle();
  ASSERT_TRUE(put && put->has_value());
  EXPECT_TRUE(loader.last->stop().stop_requested());
  load(after);
  settle();
  EXPECT_EQ(after.value(), "newer");
  loader.let_go();
  settle();
  EXPECT_EQ(before.value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("newer"));
}

TEST_F(CacheTest, AnInvalidatedLoadIsNotStoredAndTheNextCallerLoadsAnew) {
  call before, after;
  load(before);
  settle();
  std::optional<result<bool>> done;
  strings->async_invalidate(cache_key("k"), herdlock_test::as_result([&](result<bool> r) {
                              done.emplace(std::move(r));
                            }));
  settle();
  ASSERT_TRUE(done && done->has_value());
  EXPECT_FALSE(done->value());
  load(after);
  settle();
  EXPECT_EQ(loader.runs, 2);
  loader.let_go();
  settle();
  EXPECT_EQ(before.value(), "loaded");
  EXPECT_EQ(after.value(), "loaded");
  EXPECT_EQ(script->count("fill"), 1u);
}

}  // namespace
}  // namespace herdlock::scripted
