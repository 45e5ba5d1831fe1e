// What a process keeps while it writes itself, over a scripted store.
#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheNearWrites : public CacheTest {
 protected:
  CacheNearWrites() {
    tracks = true;
    open({.near = {.mode = near_cache::all, .untracked_age = 1h}, .hot = {.keys = std::nullopt}});
    script->entries["k"].value = cache_value("there");
  }

  bool answers_by_itself() {
    auto const before = strings->stats().near_hits;
    call one;
    load(one);
    EXPECT_TRUE(run_until([&] { return one.answers > 0; }));
    return strings->stats().near_hits > before;
  }
  bool keeps_it_again() {
    return run_until([&] { return answers_by_itself(); });
  }
  /// The store says nothing to it.
  void begin_put() {
    script->script = [](std::string const& verb, std::size_t) {
      return verb == "put" ? fault::hang : fault::none;
    };
    strings->async_put("k", "new",
                       herdlock_test::as_result([this](result<void> const&) { ++replies; }));
    EXPECT_TRUE(run_until([&] { return !script->hanging.empty(); }));
    script->script = nullptr;
  }

  int replies = 0;
};

TEST_F(CacheNearWrites, NothingOfItsKeyIsKeptBeforeTheReply) {
  ASSERT_TRUE(keeps_it_again());
  begin_put();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(answers_by_itself());
  script->release_hanging();
  EXPECT_TRUE(run_until([&] { return replies == 1; }));
  EXPECT_TRUE(keeps_it_again());
}

TEST_F(CacheNearWrites, WhatWasReadMeanwhileIsNotKeptAfterwards) {
  ASSERT_TRUE(keeps_it_again());
  begin_put();
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "get" ? fault::delay : fault::none;
  };
  call one;
  load(one);
  EXPECT_TRUE(run_until([&] { return script->hanging.size() == 2; }));
  script->script = nullptr;
  auto const inserts = strings->stats().near_inserts;
  script->release_hanging();
  EXPECT_TRUE(run_until([&] { return one.answers == 1 && replies == 1; }));
  EXPECT_EQ(strings->stats().near_inserts, inserts);
  EXPECT_TRUE(keeps_it_again());
}

// As a server does that has lost its slots.
TEST_F(CacheNearWrites, ALinkThatRefusesEachPingIsAskedNoMoreOften) {
  ASSERT_TRUE(keeps_it_again());
  constexpr std::size_t some = 6;
  auto const third = cache_options().near.max_staleness / 3;
  tracking->refuses_pings = true;
  tracking->pings = 0;
  auto const begun = clock::now();
  EXPECT_TRUE(run_until([&] { return tracking->pings == some; }));
  EXPECT_GE(clock::now() - begun, (some - 2) * third);
  EXPECT_FALSE(answers_by_itself());
  tracking->refuses_pings = false;
  EXPECT_TRUE(keeps_it_again());
}

// As when the store is closed with the write on its way.
TEST_F(CacheNearWrites, AReplyThatNeverComesEndsWithItsHandler) {
  ASSERT_TRUE(keeps_it_again());
  begin_put();
  EXPECT_FALSE(answers_by_itself());
  script->hanging.clear();
  EXPECT_TRUE(keeps_it_again());
}

// The fill that is on its way keeps what was near, and nothing else of the cache: seen by ASan.
TEST_F(CacheNearWrites, AConnectionMayEndBehindTheCacheWhileAReplyIsMissing) {
  ASSERT_TRUE(keeps_it_again());
  script->entries.clear();
  tracking->push("k");
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "fill" ? fault::hang : fault::none;
  };
  call one;
  load(one);
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return !script->hanging.empty(); }));
  strings.reset();
  settle();
  tracking->cut();
  script->release_hanging();
  settle();
  EXPECT_EQ(one.answers, 1);
}

}  // namespace
}  // namespace herdlock::scripted
