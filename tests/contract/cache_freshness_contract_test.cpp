// A cache of framed entries over every store: an entry becomes stale by the store's own clock, is
// served meanwhile, and one of all processes loads it anew.
#include <atomic>
#include <herdlock/herdlock.hpp>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fixture.hpp"
#include "support/gate.hpp"
#include "support/relayed_cache.hpp"

namespace herdlock_test {
namespace {

using maybe_text = std::optional<std::string>;

class cache_freshness_contract : public testing::TestWithParam<store_case> {
 protected:
  static constexpr auto key = "product:1";

  static cache_options framed() {
    return {.prefix = no_prefix,
            .ttl = 50ms,
            .ttl_jitter = 0,
            .format = cache_format::framed,
            .freshness = {.grace = 10min}};
  }
  static cache_options plain() { return {.prefix = no_prefix, .ttl = 10min}; }

  auto loader(std::string value) {
    return [this, value = std::move(value)](load_context const&) -> maybe_text {
      ++loads;
      return value;
    };
  }
  /// A look takes a stale entry for a miss.
  static bool becomes_stale(cache<std::string> const& one) {
    return eventually([&] { return one.get(key).is_miss(); });
  }
  relayed_cache make(cache_options const& options) const {
    return relayed_cache(open_store(url_), options);
  }

  temp_dir scratch_;
  std::string const url_ = GetParam().url(scratch_.path());
  std::atomic<int> loads{0};
};

INSTANTIATE_TEST_SUITE_P(stores, cache_freshness_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(cache_freshness_contract, AStaleValueIsServedWhileOneOfTwoProcessesLoadsBehindIt) {
  auto options = framed();
  options.ttl = 10min;
  auto const one = make(options);
  auto const other = make(options);
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "old");
  EXPECT_TRUE(one.expire(key));
  gate begun, go_on;
  std::atomic<int> refreshes{0};
  auto slow = [&](load_context const&) -> maybe_text {
    ++refreshes;
    begun.open();
    EXPECT_TRUE(go_on.wait());
    return "new";
  };
  EXPECT_EQ(one.get_or_load(key, slow), "old");
  EXPECT_TRUE(begun.wait());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(one.get_or_load(key, loader("second")), "old");
    EXPECT_EQ(other.get_or_load(key, loader("third")), "old");
  }
  EXPECT_EQ(loads, 1) << "the first";
  go_on.open();
  EXPECT_TRUE(eventually([&] { return other.get_or_load(key, loader("never")) == "new"; }));
  EXPECT_EQ(refreshes, 1);
  EXPECT_EQ(other.stats().misses, 0u) << "it never waited for a load";
}

TEST_P(cache_freshness_contract, ALookTellsAnEntryOfAnotherAndItsTimes) {
  auto options = framed();
  options.ttl = 10min;
  auto const one = make(options);
  auto const other = make(options);
  EXPECT_FALSE(other.look(key));
  auto const before = herdlock::clock::now();
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  auto const fresh = other.look(key);
  ASSERT_TRUE(fresh && fresh->made && fresh->expires && fresh->ends);
  EXPECT_EQ(fresh->value, "old");
  EXPECT_FALSE(fresh->is_stale);
  EXPECT_GE(*fresh->made, before - 2s) << "what the clocks of two processes may differ by";
  EXPECT_EQ(*fresh->expires - *fresh->made, 10min);
  EXPECT_EQ(*fresh->ends - *fresh->expires, 10min);
  EXPECT_TRUE(one.expire(key));
  auto const stale = other.look(key);
  ASSERT_TRUE(stale);
  EXPECT_EQ(stale->value, "old");
  EXPECT_TRUE(stale->is_stale);
  EXPECT_TRUE(one.invalidate(key));
  EXPECT_FALSE(other.look(key));
  EXPECT_EQ(loads, 1);
}

TEST_P(cache_freshness_contract, AnObserverIsToldOfEachOutcomeInOrder) {
  std::mutex mutex;
  std::vector<cache_outcome> seen;  // mutex
  auto options = framed();
  options.ttl = 10min;
  options.observer.call = [&](cache_event const& one) {
    std::lock_guard const lock(mutex);
    EXPECT_EQ(one.key, key);
    seen.push_back(one.what);
  };
  auto const one = make(options);
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  EXPECT_EQ(one.get_or_load(key, loader("never")), "old");
  EXPECT_TRUE(one.expire(key));
  auto fail = [](load_context const&) -> maybe_text { throw std::runtime_error("no database"); };
  EXPECT_EQ(one.get_or_load(key, fail), "old");
  std::vector<cache_outcome> const expected{cache_outcome::miss, cache_outcome::loaded,
                                            cache_outcome::hit, cache_outcome::stale,
                                            cache_outcome::refresh_failed};
  EXPECT_TRUE(eventually([&] {
    std::lock_guard const lock(mutex);
    return seen == expected;
  }));
}

// A loader of the cache that waits until it is let go.
TEST_P(cache_freshness_contract, ACallHasASoftTimeoutAndAWaitOfItsOwn) {
  auto options = framed();
  options.ttl = 10min;
  gate go_on;
  herdlock::cache<std::string> const one(open_store(url_), options, [&] {
    EXPECT_TRUE(go_on.wait());
    return std::string("new");
  });
  one.put(key, "old");
  EXPECT_TRUE(one.expire(key));
  EXPECT_EQ(one.get_or_load(key, {.soft_timeout = 20ms}), "old");
  EXPECT_EQ(one.stats().soft_timeouts, 1u);
  EXPECT_THROW(one.get_or_load("product:2", {.wait = 20ms}), herdlock::error);
  EXPECT_EQ(one.stats().timed_out, 1u);
  go_on.open();
  EXPECT_TRUE(eventually([&] { return one.get_or_load(key, {.soft_timeout = 10s}) == "new"; }));
  EXPECT_EQ(one.get_or_load("product:2", {.wait = wait_forever}), "new");
}

TEST_P(cache_freshness_contract, APlainEntryIsLookedAtWithoutTimes) {
  auto const one = make(plain());
  one.put(key, "plain");
  auto const got = one.look(key);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, "plain");
  EXPECT_FALSE(got->is_stale || got->made);
}

TEST_P(cache_freshness_contract, AnExpiredValueIsServedUntilItIsLoadedAnewAndAnInvalidatedIsNot) {
  auto options = framed();
  options.ttl = 10min;
  auto const one = make(options);
  auto const other = make(options);
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  EXPECT_EQ(other.get_or_load(key, loader("never")), "old");
  EXPECT_TRUE(one.expire(key));
  EXPECT_TRUE(other.get(key).is_miss());
  EXPECT_EQ(other.get_or_load(key, loader("new")), "old");
  // A stale one is none for a look, which loads nothing.
  EXPECT_TRUE(eventually([&] {
    auto const seen = one.get(key);
    return seen && *seen == "new";
  }));
  EXPECT_EQ(loads, 2);
  EXPECT_TRUE(one.invalidate(key));
  EXPECT_EQ(other.get_or_load(key, loader("newest")), "newest");
}

TEST_P(cache_freshness_contract, WithFailSafeAStaleValueOutlivesTheFailuresOfItsLoads) {
  auto options = framed();
  options.ttl = 10min;
  options.freshness.fail_safe = true;
  options.freshness.soft_timeout = wait_forever;
  options.error_back_off = 10min;
  auto const one = make(options);
  auto const other = make(options);
  EXPECT_EQ(one.get_or_load(key, loader("old")), "old");
  EXPECT_TRUE(one.expire(key));
  auto failing = [this](load_context const&) -> maybe_text {
    ++loads;
    throw std::runtime_error("the database is down");
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.get_or_load(key, failing), "old");
    EXPECT_EQ(other.get_or_load(key, failing), "old");
  }
  EXPECT_EQ(loads, 2) << "one of the fleet failed, and all back off";
  EXPECT_EQ(other.stats().shared_errors, 1u);
  EXPECT_EQ(one.stats().stale_after_error, 1u);
}

TEST_P(cache_freshness_contract, APutIsStaleAfterItsTtlLikeALoadedValue) {
  auto const one = make(framed());
  one.put(key, "put");
  ASSERT_TRUE(becomes_stale(one));
  EXPECT_EQ(one.get_or_load(key, loader("loaded")), "put");
  // A put that took longer than a part of this ttl is refreshed by so much later.
  EXPECT_TRUE(eventually([&] { return one.get_or_load(key, loader("loaded")) == "loaded"; }));
}

// A fleet that goes over from one format to the other, and one that cannot agree.
TEST_P(cache_freshness_contract, EntriesOfTheOtherFormatAreMissesAndAreOverwritten) {
  auto options = framed();
  options.ttl = 10min;
  auto const old_build = make(plain());
  auto const new_build = make(options);
  EXPECT_EQ(old_build.get_or_load(key, loader("plain")), "plain");
  EXPECT_EQ(new_build.get_or_load(key, loader("framed")), "framed");
  EXPECT_EQ(new_build.get_or_load(key, loader("never")), "framed");
  EXPECT_EQ(old_build.get_or_load(key, loader("plain again")), "plain again");
  EXPECT_EQ(old_build.get_or_load(key, loader("never")), "plain again");
  EXPECT_GE(old_build.stats().undecodable, 1u);
  EXPECT_GE(new_build.stats().undecodable, 1u);
  EXPECT_EQ(loads, 3);
}

TEST_P(cache_freshness_contract, NothingIsRememberedAsNothingAndCanBeStale) {
  auto options = framed();
  options.ttl = 10min;
  options.negative_ttl = 50ms;
  auto const one = make(options);
  auto nothing = [this](load_context const&) -> maybe_text {
    ++loads;
    return std::nullopt;
  };
  EXPECT_EQ(one.get_or_load(key, nothing), std::nullopt);
  ASSERT_TRUE(becomes_stale(one));
  EXPECT_EQ(one.get_or_load(key, loader("there is one")), std::nullopt);
  EXPECT_TRUE(
      eventually([&] { return one.get_or_load(key, loader("there is one")) == "there is one"; }));
}

}  // namespace
}  // namespace herdlock_test
