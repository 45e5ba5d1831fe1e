// Early refresh of entries that carry no times of their own.
#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CachePlainRefresh : public CacheTest {
 protected:
  CachePlainRefresh() { open(early()); }

  // Each caller is elected once it is known how long a load takes.
  static cache_options early() { return {.ttl = 60s, .ttl_jitter = 0, .early_refresh = 10}; }
  call& ask() {
    load(calls.emplace_back());
    settle();
    return calls.back();
  }
  /// As another process, or program, does it.
  void store(std::string const& value, milliseconds left) {
    script->entries["k"].value = cache_value(value);
    script->ttl_left = left;
  }
  /// For an entry that ends after 100 ms, and is stored anew whenever it has ended.
  call& ask_near_its_end() {
    auto const now = clock::now();
    if (now >= end) {
      end = now + 100ms;
      ++stored;
      store("old", 100ms);
    }
    script->ttl_left = std::chrono::ceil<milliseconds>(end - now);
    return ask();
  }
  /// So that the cache knows how long its loads take.
  void load_for(milliseconds time) {
    loader.hold();
    load(calls.emplace_back(), "another");
    settle();
    auto const until = clock::now() + time;
    run_until([&] { return clock::now() >= until; });
    loader.let_go();
    settle();
  }
  std::deque<call> calls;
  clock::time_point end{};
  int stored = 0;
};

TEST_F(CachePlainRefresh, TheStoreIsAskedOnceForTheEndOfAnEntryAndHitsArePlainReads) {
  store("old", 10min);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(script->log, (std::vector<std::string>{"get", "time_left", "get", "get"}));
  EXPECT_EQ(strings->stats().hits, 3u);
}

TEST_F(CachePlainRefresh, AnEntryThatWasStoredHereIsNotAskedFor) {
  loader.let_go();
  ask();
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(script->count("time_left"), 0u);
}

TEST_F(CachePlainRefresh, AnEntryNearItsEndIsLoadedBehindItsAnswers) {
  load_for(20ms);
  loader.hold();
  EXPECT_TRUE(run_until([&] { return ask_near_its_end().value() != "old" || loader.runs == 2; }));
  EXPECT_EQ(ask().value(), "old") << "it is being loaded";
  loader.let_go();
  settle();
  script->ttl_left = 60s;
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded")) << "as other programs read it";
  EXPECT_EQ(loader.runs, 2);
  EXPECT_EQ(strings->stats().misses, 1u) << "of the other key";
}

TEST_F(CachePlainRefresh, OneThatAnotherHasRefreshedIsAskedForAgain) {
  load_for(20ms);
  store("old", 100ms);
  ask();
  script->ttl_left = 10min;
  EXPECT_TRUE(run_until([&] {
    ask();
    return strings->stats().refused_refreshes == 1;
  }));
  auto const asked = script->count("time_left");
  for (int i = 0; i < 3; ++i) ask();
  EXPECT_EQ(script->count("time_left"), asked + 1);
  EXPECT_EQ(loader.runs, 1);
}

TEST_F(CachePlainRefresh, AFailureIsNoAnswerAndTheNextLoadWaitsForItsBackOff) {
  auto options = early();
  options.error_back_off = 10min;
  open(options);
  load_for(20ms);
  loader.error = "the database is down";
  EXPECT_TRUE(run_until([&] { return ask_near_its_end().value() != "old" || loader.runs == 2; }));
  int const by_then = stored;
  auto const claims = script->count("claim");
  EXPECT_TRUE(run_until([&] {
    return ask_near_its_end().value() != "old" || stored == by_then + 2;
  })) << "two more have ended";
  EXPECT_EQ(script->count("claim"), claims) << "that they are there is no success of a load";
  EXPECT_EQ(calls.back().value(), "old");
  EXPECT_EQ(loader.runs, 2);
}

TEST_F(CachePlainRefresh, AfterAnInvalidateTheEndOfTheNextEntryIsAskedFor) {
  store("old", 10min);
  ask();
  strings->async_invalidate("k", herdlock_test::as_result([](result<bool> const&) {}));
  settle();
  store("another's", 10min);
  EXPECT_EQ(ask().value(), "another's");
  EXPECT_EQ(script->count("time_left"), 2u);
}

TEST_F(CachePlainRefresh, OfAnEntryThatWasNotStoredNothingIsRemembered) {
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "fill" ? fault::refuse : fault::none;
  };
  loader.let_go();
  EXPECT_EQ(ask().value(), "loaded");
  store("another's", 10min);
  EXPECT_EQ(ask().value(), "another's");
  EXPECT_EQ(script->count("time_left"), 1u);
}

TEST_F(CachePlainRefresh, AStoreThatCannotTellLeavesThePlainCacheAsItIs) {
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "time_left" ? fault::refuse : fault::none;
  };
  store("old", 10min);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 0);
}

// A right that is missing is missing for good: a hit stays one plain read.
TEST_F(CachePlainRefresh, AStoreThatCannotTellIsNotAskedAtEachHit) {
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "time_left" ? fault::refuse : fault::none;
  };
  store("old", 10min);
  std::size_t hits = 0;
  auto const second = clock::now() + 1s;
  while (hits < 3 || (hits < 100 && clock::now() < second)) {
    EXPECT_EQ(ask().value(), "old");
    ++hits;
  }
  EXPECT_LT(script->count("time_left"), hits);
  // It is asked again later.
  script->script = nullptr;
  EXPECT_TRUE(run_until([&] {
    ask();
    return script->count("time_left") > 1;
  }));
}

TEST_F(CachePlainRefresh, OfAnEntryThatTookThePlaceOfOneThatWasMissedTheEndIsAskedFor) {
  store("old", 10min);
  ask();
  script->entries.erase("k");
  strings->async_get("k", herdlock_test::as_result([](result<cached<std::string>> const&) {}));
  settle();
  store("another's", 100ms);
  ask();
  EXPECT_EQ(script->count("time_left"), 2u);
}

TEST_F(CachePlainRefresh, ItNeedsValuesAndClaimsInOneStore) {
  EXPECT_THROW(cache<std::string>(*opened, *opened, early()), error);
}

}  // namespace
}  // namespace herdlock::scripted
