// Claims that are leases of another store.
#include <deque>

#include "cache/engine/over_locks.hpp"
#include "cache_fixture.hpp"
#include "scripted_lease_store.hpp"
#include "stores/memory/memory_store.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

// Longer than it is proved, a claim could be another's before its end.
TEST(cache_over_locks, AClaimIsNoLongerThanItsStoreProves) {
  scripted_fixture locks({.longest_validity = 400ms});
  store const values = open_store("memory:claims", {.executor = locks.io.get_executor()});
  cache<std::string> strings(values, *locks.opened, {.claim_ttl = 1min});
  held_loader loader(locks.io.get_executor());
  call one;
  strings.async_get_or_load(cache_key("k"), std::ref(loader),
                            herdlock_test::as_result(one.token()));
  auto& script = *locks.script;
  ASSERT_TRUE(locks.run_until([&] { return !script.acquires.empty(); }));
  EXPECT_EQ(script.acquires.front().request.ttl, 400ms);
  script.grant_next(7);

  ASSERT_TRUE(locks.run_until([&] { return loader.runs == 1 && !script.renews.empty(); }));
  EXPECT_EQ(script.renews.front().ttl, 400ms) << "renewed while the loader runs";
  script.renew_next(renew_reply::renewed);
  locks.settle();

  loader.let_go();
  ASSERT_TRUE(locks.run_until([&] { return !script.renews.empty(); }));
  EXPECT_EQ(script.renews.front().ttl, 400ms) << "renewed to store the value";
  script.renew_next(renew_reply::renewed);
  ASSERT_TRUE(locks.run_until([&] { return !script.releases.empty(); }));
  script.release_next(release_reply::released);
  ASSERT_TRUE(locks.run_until([&] { return one.got.has_value(); }));
  EXPECT_EQ(one.value(), "loaded");
}

// S9: the lock store's outage is no matter of those who read.
TEST(cache_over_locks, AnOutageOfTheLockStoreLeavesReadsAloneAndLoadsUnguarded) {
  for (auto const why : {errc::unavailable, errc::timed_out}) {
    scripted_fixture locks;
    store const values = open_store("memory:outage", {.executor = locks.io.get_executor()});
    cache<std::string> strings(values, *locks.opened, {.bounds = {.max_loads_without_store = 2}});
    strings.async_put(cache_key("hit"), "stored", herdlock_test::as_result([](result<void>) {}));
    locks.settle();
    held_loader loader(locks.io.get_executor());
    call first;
    strings.async_get_or_load(cache_key("first"), std::ref(loader),
                              herdlock_test::as_result(first.token()));
    locks.settle();
    ASSERT_EQ(locks.script->acquires.size(), 1u);
    locks.script->fail_next_acquire(why);
    locks.settle();
    std::deque<call> misses(5), hits(5);
    for (std::size_t i = 0; i < misses.size(); ++i) {
      auto const key = cache_key("missing" + std::to_string(i));
      strings.async_get_or_load(key, std::ref(loader), herdlock_test::as_result(misses[i].token()));
      strings.async_get_or_load(cache_key("hit"), std::ref(loader),
                                herdlock_test::as_result(hits[i].token()));
      locks.settle();
      EXPECT_EQ(hits[i].value(), "stored");
    }
    EXPECT_EQ(loader.runs, 2) << "the bound of this process";
    EXPECT_LE(locks.script->acquires.size(), 1u) << "left alone for a while, then probed";
    if (!locks.script->acquires.empty()) locks.script->fail_next_acquire(why);
    loader.let_go();
    ASSERT_TRUE(locks.run_until([&] { return misses.back().answers == 1; }));
    for (auto const& each : misses) EXPECT_EQ(each.value(), "loaded");
    EXPECT_EQ(strings.stats().hits, 5u);
  }
}

// A store that refuses long leases (quarantine_ttl, restart_delay) must not be asked for one.
TEST(cache_over_locks, ToStoreTheValueTheLockIsRenewedForNoMoreThanTheClaim) {
  scripted_fixture locks;
  store const values = open_store("memory:short", {.executor = locks.io.get_executor()});
  cache<std::string> strings(values, *locks.opened, {.claim_ttl = 2s});
  held_loader loader(locks.io.get_executor());
  loader.let_go();
  call one;
  strings.async_get_or_load(cache_key("k"), std::ref(loader),
                            herdlock_test::as_result(one.token()));
  auto& script = *locks.script;
  ASSERT_TRUE(locks.run_until([&] { return !script.acquires.empty(); }));
  script.grant_next(7);
  ASSERT_TRUE(locks.run_until([&] { return !script.renews.empty(); }));
  EXPECT_EQ(script.renews.front().ttl, 2s);
  script.renew_next(make_failure(errc::invalid_ttl, "scripted"));
  ASSERT_TRUE(locks.run_until([&] { return one.answers == 1; }));
  EXPECT_EQ(one.value(), "loaded");
  EXPECT_EQ(strings.stats().store_errors, 1u) << "a value that is not stored is counted";
}

// A claim of another store is not ended in the step that writes the value.
TEST(cache_over_locks, WhatNeedsOneStepInBothStoresIsNotSupportedAndNamesThem) {
  scripted_fixture locks;
  auto ports = open_memory(store_url::parse("memory:over").value(), locks.io.get_executor());
  auto const values =
      std::make_shared<runtime::store_core>(locks.io.get_executor(), std::move(ports).value());
  auto const claims = std::make_shared<runtime::store_core>(
      locks.io.get_executor(), backend{nullptr, nullptr, {}, "scripted:locks"});
  auto const over = std::make_shared<runtime::cache_over_locks>(values, claims, 1min);
  std::vector<failure> told;
  auto const note = [&](auto const& reply) {
    ASSERT_TRUE(reply.has_error());
    told.push_back(reply.error());
  };
  cache_key const key("k");
  over->expire(key, 1min, note);
  over->now(note);
  over->claim({key, owner_token::generate(), 1min, layout::string, 1min}, note);
  locks.settle();
  ASSERT_EQ(told.size(), 3u);
  for (auto const& why : told) {
    EXPECT_EQ(why, errc::not_supported);
    EXPECT_NE(why.message.find("memory:over"), std::string::npos) << why.message;
    EXPECT_NE(why.message.find("scripted:locks"), std::string::npos) << why.message;
  }
}

}  // namespace
}  // namespace herdlock::scripted
