// The guarded cache over a store that reads but does not write, and at its bounds.
#include <deque>

#include "algo/load_gate.hpp"
#include "cache/keys/unstored.hpp"
#include "cache_fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheWriteTrouble : public CacheTest {
 protected:
  /// Loads "broken" while `verb` is refused with `why`; then "hit" must still be a plain read.
  void expect_hits_in_spite_of(std::string const& verb, errc why) {
    SCOPED_TRACE(verb + " fails with " + std::to_string(static_cast<int>(why)));
    open({.claim_ttl = time_to_begin});
    script->entries["hit"].value = cache_value("from the store");
    script->refusal = why;
    script->script = [verb](std::string const& asked, std::size_t) {
      return asked == verb ? fault::refuse : fault::none;
    };
    loader.hold();
    call broken, hit;
    load(broken, "broken");
    settle();
    if (verb == "extend") {
      EXPECT_TRUE(run_until([&] { return script->count("extend") > 0; }));
    }
    loader.let_go();
    settle();
    EXPECT_EQ(broken.value(), "loaded");
    load(hit, "hit");
    settle();
    EXPECT_EQ(hit.value(), "from the store");
  }
};

// S9
TEST_F(CacheWriteTrouble, AStoreThatReadsButDoesNotWriteStillHasHits) {
  for (auto const why : {errc::access_denied, errc::protocol, errc::overloaded}) {
    for (std::string const verb : {"claim", "extend", "fill"}) expect_hits_in_spite_of(verb, why);
  }
  expect_hits_in_spite_of("fill", errc::invalid_value);
  expect_hits_in_spite_of("extend", errc::invalid_value);
}

// S9: full, or without replicas, a server says "unavailable" to each write and still reads.
TEST_F(CacheWriteTrouble, AStoreThatRefusesClaimsStillHasHitsAndIsNotClaimedAtEachMiss) {
  script->entries["hit"].value = cache_value("from the store");
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "claim" ? fault::refuse : fault::none;
  };
  loader.let_go();
  std::deque<call> misses(100), hits(100);
  for (std::size_t i = 0; i < misses.size(); ++i) {
    load(misses[i], "missing" + std::to_string(i));
    settle();
    load(hits[i], "hit");
    settle();
    EXPECT_EQ(misses[i].value(), "loaded");
    EXPECT_EQ(hits[i].value(), "from the store");
  }
  EXPECT_EQ(strings->stats().hits, hits.size());
  EXPECT_LT(script->count("claim"), misses.size() / 2) << "left alone for a while";
}

// S1, S9: what is loaded without the store is stored nowhere; still not every caller loads it.
TEST_F(CacheWriteTrouble, AKeyThatCannotBeStoredIsNotLoadedByEveryCaller) {
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "claim" ? fault::refuse : fault::none;
  };
  loader.let_go();
  auto const began = clock::now();
  std::deque<call> calls(1000);
  for (auto& each : calls) {
    load(each);
    settle();
    EXPECT_EQ(each.value(), "loaded");
  }
  auto const periods = (clock::now() - began) / runtime::cache_unstored::longest_unguarded;
  EXPECT_LE(loader.runs, 1 + periods);
}

// S6
TEST_F(CacheWriteTrouble, WhatWasLoadedBeforeAPutOrInvalidateIsNotGivenAgain) {
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "claim" ? fault::refuse : fault::none;
  };
  loader.let_go();
  call before, after_put, late;
  load(before);
  settle();
  strings->async_invalidate(cache_key("k"), herdlock_test::as_result([](result<bool>) {}));
  settle();
  loader.value = "newer";
  loader.hold();
  load(after_put);
  settle();
  EXPECT_EQ(after_put.answers, 0) << "it is loaded anew";
  strings->async_invalidate(cache_key("k"), herdlock_test::as_result([](result<bool>) {}));
  settle();
  loader.let_go();
  settle();
  EXPECT_EQ(after_put.value(), "newer");
  loader.value = "newest";
  load(late);
  settle();
  EXPECT_EQ(late.value(), "newest") << "a load that was voided is not given again either";
}

// S9
TEST_F(CacheWriteTrouble, LoadsAreGuardedAgainWhenAClaimHasWorked) {
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "claim" ? fault::refuse : fault::none;
  };
  loader.let_go();
  call first;
  load(first, "first");
  settle();
  script->script = nullptr;
  std::size_t keys = 0;
  std::deque<call> later;
  ASSERT_TRUE(run_until([&] {
    load(later.emplace_back(), "later" + std::to_string(++keys));
    settle();
    return script->count("fill") == 1;
  }));
  auto const unguarded = strings->stats().unguarded_loads;
  load(later.emplace_back(), "guarded");
  settle();
  EXPECT_EQ(strings->stats().unguarded_loads, unguarded);
  EXPECT_EQ(script->count("fill"), 2u);
}

// The load that is to find out whether claims work again may end before it has claimed.
TEST_F(CacheWriteTrouble, AProbeOfTheClaimsThatIsGivenUpIsNotTheLast) {
  open({.claim_ttl = time_to_begin, .bounds = {.max_loads = 1}});
  call busy, probe, next;
  load(busy, "busy");  // keeps the one slot of those who claim
  settle();
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "extend" ? fault::refuse : fault::none;
  };
  ASSERT_TRUE(run_until([&] { return strings->stats().store_errors > 0; }));
  script->script = nullptr;
  auto const pause_over = clock::now() + algo::store_health::longest_pause;
  ASSERT_TRUE(run_until([&] { return clock::now() > pause_over; }));
  load(probe, "probe");
  settle();
  probe.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_EQ(probe.answers, 1);
  load(next, "next");
  settle();
  EXPECT_EQ(loader.runs, 1) << "the next waits for the slot, and probes";
  loader.let_go();
  settle();
  EXPECT_EQ(next.value(), "loaded");
  EXPECT_EQ(strings->stats().unguarded_loads, 0u);
}

// S9
TEST_F(CacheWriteTrouble, AStoreThatIsSilentToAClaimIsLeftAloneByReadsToo) {
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "claim" ? fault::hang : fault::none;
  };
  loader.let_go();
  call first, second;
  load(first, "first");
  settle();
  script->release_hanging();
  settle();
  load(second, "second");
  settle();
  EXPECT_EQ(second.value(), "loaded");
  EXPECT_EQ(script->count("get"), 1u);
}

TEST_F(CacheWriteTrouble, AValueThatTheStoreRefusesAnswersAndItsClaimIsGivenUp) {
  script->refusal = errc::invalid_value;
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "fill" ? fault::refuse : fault::none;
  };
  loader.let_go();
  call c;
  load(c);
  settle();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->entries["k"].claimant, "");
  EXPECT_EQ(strings->stats().unstorable, 1u);
  EXPECT_EQ(strings->stats().store_errors, 0u);
}

// S1: a value that nobody can store is not loaded by every caller.
TEST_F(CacheWriteTrouble, AValueThatCannotBeStoredIsLoadedOnceInABackOff) {
  open({.error_back_off = 10min});
  loader.value = std::string(limits::max_value_bytes + 1, 'x');
  loader.let_go();
  std::deque<call> calls(3);
  for (auto& each : calls) {
    load(each);
    settle();
    EXPECT_EQ(each.value().size(), limits::max_value_bytes + 1);
  }
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(strings->stats().unstorable, 1u);

  strings->async_invalidate("k", herdlock_test::as_result([](result<bool>) {}));
  settle();
  loader.value = "smaller";
  call after, last;
  load(after);
  settle();
  EXPECT_EQ(after.value(), "smaller");
  load(last);
  settle();
  EXPECT_EQ(loader.runs, 2) << "stored";
}

TEST_F(CacheWriteTrouble, AValueThatTheStoreRefusesIsLoadedOnceInABackOffUnlessItIsVoided) {
  open({.error_back_off = 10min});
  script->refusal = errc::invalid_value;
  auto how = fault::refuse;
  script->script = [&](std::string const& asked, std::size_t) {
    return asked == "fill" ? how : fault::none;
  };
  loader.let_go();
  call first, second;
  load(first);
  settle();
  load(second);
  settle();
  EXPECT_EQ(second.value(), "loaded");
  EXPECT_EQ(loader.runs, 1);

  // The refusal comes when the value is out of date.
  how = fault::hang;
  script->end_of_hanging = errc::invalid_value;
  call third, fourth;
  load(third, "voided");
  settle();
  strings->async_invalidate("voided", herdlock_test::as_result([](result<bool>) {}));
  settle();
  script->release_hanging();
  settle();
  EXPECT_EQ(third.value(), "loaded");
  loader.value = "newer";
  script->script = nullptr;
  load(fourth, "voided");
  settle();
  EXPECT_EQ(fourth.value(), "newer");
}

TEST_F(CacheWriteTrouble, ClosingStartsNoLoaderThatQueues) {
  loader.heeds = true;
  open({.bounds = {.max_loads_without_store = 1}});
  script->script = [](auto&&...) { return fault::refuse; };
  std::deque<call> calls(4);
  for (std::size_t i = 0; i < calls.size(); ++i) load(calls[i], "k" + std::to_string(i));
  settle();
  ASSERT_EQ(loader.runs, 1);
  strings.reset();
  settle();
  EXPECT_EQ(loader.runs, 1);
  for (auto const& c : calls) EXPECT_TRUE(c.failed_with(errc::canceled));
}

// The flight that queues is older than the one that runs, so that either order of closing is met.
TEST_F(CacheWriteTrouble, ClosingStartsNoOlderLoaderThatQueues) {
  loader.heeds = true;
  open({.bounds = {.max_loads_without_store = 1}});
  script->script = [](std::string const& asked, std::size_t number) {
    if (asked == "claim") return fault::hang;
    return asked == "get" && number > 1 ? fault::refuse : fault::none;
  };
  call older, newer;
  load(older, "older");
  settle();
  load(newer, "newer");
  settle();
  script->release_hanging();
  settle();
  ASSERT_EQ(loader.runs, 1);
  strings.reset();
  settle();
  EXPECT_EQ(loader.runs, 1);
  EXPECT_TRUE(older.failed_with(errc::canceled));
  EXPECT_TRUE(newer.failed_with(errc::canceled));
}

TEST_F(CacheWriteTrouble, AnUnguardedLoadThatHangsGivesItsKeyUp) {
  open({.max_load_time = 20ms});
  script->script = [](auto&&...) { return fault::refuse; };
  call stuck, next;
  load(stuck);
  settle();
  ASSERT_EQ(loader.runs, 1);
  auto const first = loader.last;
  ASSERT_TRUE(run_until([&] { return first->stop().stop_requested(); }));
  load(next);
  settle();
  EXPECT_EQ(loader.runs, 2);
  loader.let_go();
  settle();
  EXPECT_EQ(stuck.value(), "loaded");
  EXPECT_EQ(next.value(), "loaded");
}

TEST_F(CacheWriteTrouble, CallersOfABusyExecutorAreBoundedToo) {
  open({.bounds = {.max_waiting = 2}});
  std::deque<call> calls(5);
  for (std::size_t i = 0; i < calls.size(); ++i) load(calls[i], "k" + std::to_string(i));
  for (auto const& c : calls) EXPECT_EQ(c.answers, 0) << "never inside the call";
  settle();
  loader.let_go();
  settle();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].failed_with(errc::overloaded), i >= 2) << i;
    EXPECT_EQ(calls[i].answers, 1);
  }
  EXPECT_EQ(strings->stats().overloaded, 3u);
}

}  // namespace
}  // namespace herdlock::scripted
