// look(): an entry as the store has it, fresh or stale, and its times.
#include "cache_tags_fixture.hpp"

namespace herdlock::scripted {
namespace {

using seen = std::optional<looked<std::string>>;

class CacheLook : public CacheTags {
 protected:
  CacheLook() {
    other.reset();
    open(framed());
  }

  result<seen> look() {
    std::optional<result<seen>> got;
    strings->async_look("k", herdlock_test::as_result([&](result<seen> r) { got = std::move(r); }));
    settle();
    return got ? *std::move(got) : make_failure(errc::timed_out, "no answer");
  }
  static bool is_about(std::optional<clock::time_point> at, clock::time_point expected) {
    return at && *at > expected - 10s && *at < expected + 10s;
  }
};

TEST_F(CacheLook, AFreshEntryIsToldWithItsTimes) {
  store_entry(header_of(20s));
  auto const now = clock::now();
  auto const got = look().value();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, "old");
  EXPECT_FALSE(got->is_stale);
  EXPECT_TRUE(is_about(got->made, now - 20s));
  EXPECT_TRUE(is_about(got->expires, now + 40s));
  EXPECT_TRUE(is_about(got->ends, now + 340s));
  EXPECT_EQ(strings->stats().hits, 1u);
  EXPECT_EQ(strings->stats().stale_hits, 0u);
}

TEST_F(CacheLook, AStaleEntryIsAnAnswerAndNothingIsLoaded) {
  store_stale();
  auto const now = clock::now();
  auto const got = look().value();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, "old");
  EXPECT_TRUE(got->is_stale);
  EXPECT_TRUE(is_about(got->expires, now - 1s));
  EXPECT_EQ(strings->stats().stale_hits, 1u);
  EXPECT_EQ(script->count("claim"), 0u);
}

TEST_F(CacheLook, OfAnExpiredEntryItIsNotKnownSinceWhenItIsStale) {
  store_entry(header_of(20s));
  EXPECT_TRUE(expire());
  auto const got = look().value();
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->is_stale);
  EXPECT_FALSE(got->expires);
  EXPECT_TRUE(is_about(got->made, clock::now() - 20s));
}

TEST_F(CacheLook, WhatIsMissingHasEndedOrWasInvalidatedMeanwhileIsNothing) {
  EXPECT_FALSE(look().value());
  store_entry(header_of(ttl + grace + 1s));
  EXPECT_FALSE(look().value());
  store_stale();
  std::optional<result<seen>> got;
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "get" ? fault::delay : fault::none;
  };
  strings->async_look("k", herdlock_test::as_result([&](result<seen> r) { got = std::move(r); }));
  settle();
  auto const before = script->entries["k"].value;
  invalidate();
  script->entries["k"].value = before;  // the read was carried out before
  script->release_hanging();
  settle();
  ASSERT_TRUE(got && got->has_value());
  EXPECT_FALSE(got->value());
  EXPECT_EQ(strings->stats().misses, 3u);
}

TEST_F(CacheLook, ANegativeEntryIsAnEntryWithoutAValue) {
  script->entries["k"].value = runtime::with_header({header_of(1s), absent{}}, layout::string);
  auto const got = look().value();
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->value);
  EXPECT_FALSE(got->is_stale);
  EXPECT_EQ(strings->stats().negative_hits, 1u);
}

TEST_F(CacheLook, APlainEntryHasNoTimes) {
  open({.ttl = ttl});
  script->entries["k"].value = cache_value("plain");
  auto const got = look().value();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->value, "plain");
  EXPECT_FALSE(got->is_stale || got->made || got->expires || got->ends);
}

TEST_F(CacheLook, AnInvalidatedTagEndsTheEntryAndAnExpiredOneMakesItStale) {
  open_tagged(tagged());
  EXPECT_EQ(load_here("old"), "old");
  expire_here();
  auto const stale = look().value();
  ASSERT_TRUE(stale);
  EXPECT_TRUE(stale->is_stale);
  invalidate_here();
  EXPECT_FALSE(look().value());
}

TEST_F(CacheLook, TroubleOfTheStoreIsItsError) {
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "get" ? fault::refuse : fault::none;
  };
  auto const got = look();
  EXPECT_TRUE(got.has_error() && got.error() == errc::unavailable);
}

TEST_F(CacheLook, ALookAndALoadOfOneTurnShareTheRead) {
  store_entry(header_of(1s));
  std::optional<result<seen>> got;
  call& c = calls.emplace_back();
  load(c);
  strings->async_look("k", herdlock_test::as_result([&](result<seen> r) { got = std::move(r); }));
  settle();
  EXPECT_EQ(c.value(), "old");
  ASSERT_TRUE(got && got->has_value() && got->value());
  EXPECT_EQ(got->value()->value, "old");
  EXPECT_EQ(script->count("get"), 1u);
}

}  // namespace
}  // namespace herdlock::scripted
