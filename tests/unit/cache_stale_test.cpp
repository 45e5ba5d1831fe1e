// Callers of a cache who have a stale value at hand: while a load is slow, fails, or is voided.
#include "cache_age_fixture.hpp"

#include "algo/stale_grace_check.hpp"

namespace herdlock::scripted {
namespace {

using CacheStale = CacheAge;

// ---------------------------------------------------------------------------------- soft timeout

TEST_F(CacheStale, AfterTheSoftTimeoutTheStaleValueIsTheAnswerAndTheLoadGoesOn) {
  auto options = framed();
  options.freshness.soft_timeout = 20ms;
  open(options);
  store_stale();
  call& c = ask();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "old");
  loader.let_go();
  settle();
  EXPECT_EQ(stored_text(), "loaded");
  EXPECT_EQ(strings->stats().soft_timeouts, 1u);
  EXPECT_EQ(loader.runs, 1);
}

TEST_F(CacheStale, ALoadThatEndsWithinTheSoftTimeoutIsTheAnswer) {
  auto options = framed();
  options.freshness.soft_timeout = 20s;
  open(options);
  store_stale();
  call& first = ask();
  call& second = ask();
  loader.let_go();
  settle();
  EXPECT_EQ(first.value(), "loaded");
  EXPECT_EQ(second.value(), "loaded");
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(strings->stats().soft_timeouts, 0u);
}

TEST_F(CacheStale, ALoadWhoseCallersHaveAllSoftlyTimedOutStillGetsItsSlot) {
  auto options = framed();
  options.freshness.soft_timeout = 10ms;
  options.bounds.max_loads = 1;
  open(options);
  call other;
  load(other, "other");
  settle();
  store_stale();
  call& c = ask();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "old");
  loader.let_go();
  settle();
  EXPECT_EQ(stored_text(), "loaded");
}

TEST_F(CacheStale, ACallerWhoCancelsWhileItWaitsSoftlyIsForgotten) {
  auto options = framed();
  options.freshness.soft_timeout = time_to_begin;
  open(options);
  store_stale();
  call& c = ask();
  c.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_TRUE(c.failed_with(errc::canceled));
  call& next = ask();
  ASSERT_TRUE(run_until([&] { return next.answers > 0; }));
  EXPECT_EQ(c.answers, 1);
}

TEST_F(CacheStale, ClosingTheCacheCancelsThoseWhoWaitSoftly) {
  open(failing_safe());
  store_stale();
  call& c = ask();
  strings.reset();
  settle();
  EXPECT_TRUE(c.failed_with(errc::canceled)) << c.value();
}

// ------------------------------------------------------------------------------------- fail-safe

TEST_F(CacheStale, WithFailSafeAStaleValueIsTheAnswerInsteadOfAnError) {
  open(failing_safe());
  loader.error = "database is down";
  store_stale();
  call& c = ask();
  EXPECT_EQ(c.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(c.value(), "old");
  EXPECT_EQ(stored_text(), "old") << "an error lies beside the entry";
  auto const stats = strings->stats();
  EXPECT_EQ(stats.stale_after_error, 1u);
  EXPECT_EQ(stats.load_errors, 1u);
}

TEST_F(CacheStale, WithFailSafeAStaleValueIsTheAnswerAtTheEndOfTheWait) {
  auto options = failing_safe();
  options.wait = time_to_begin;
  open(options);
  store_stale();
  call& c = ask();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "old");
  EXPECT_EQ(strings->stats().timed_out, 0u);
}

TEST_F(CacheStale, TheErrorOfAnotherIsNoAnswerWhereAStaleValueIs) {
  open(failing_safe());
  store_stale();
  script->entries["k"].error = "theirs";
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 0);
  EXPECT_EQ(strings->stats().shared_errors, 1u);
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(script->count("claim"), 1u) << "the back-off is known";
}

TEST_F(CacheStale, TheBackOffGrowsWithTheFailuresOfTheWholeFleet) {
  auto options = failing_safe();
  options.error_back_off = 10ms;
  options.freshness.max_error_back_off = 10s;
  open(options);
  loader.error = "down";
  loader.let_go();
  store_stale();
  EXPECT_EQ(ask().value(), "old");
  EXPECT_GE(script->last_back_off, 9ms);
  EXPECT_LE(script->last_back_off, 11ms);
  EXPECT_EQ(script->entries["k"].error, "down");
  // Another has tried since, and failed for the third time.
  script->entries["k"].error = "theirs [failed 3 times in a row]";
  ASSERT_TRUE(run_until([&] {
    EXPECT_EQ(ask().value(), "old");
    return strings->stats().shared_errors == 1;
  }));
  // By the entry of a later load, everything is well again; without one we are the fourth.
  script->entries["k"].error.clear();
  ASSERT_TRUE(run_until([&] {
    EXPECT_EQ(ask().value(), "old");
    return loader.runs == 2;
  }));
  EXPECT_GE(script->last_back_off, 72ms);
  EXPECT_LE(script->last_back_off, 88ms);
  EXPECT_EQ(script->entries["k"].error, "down [failed 4 times in a row]");
}

TEST_F(CacheStale, TheErrorThatAnotherSharedIsToldWithoutItsCount) {
  auto options = framed();
  open(options);
  script->entries["k"].error = "theirs [failed 3 times in a row]";
  call const& c = ask();
  ASSERT_TRUE(c.failed_with(errc::load_failed));
  EXPECT_EQ(c.got->error().message, "theirs");
}

TEST_F(CacheStale, AnErrorThatALoadWithoutTheStoreLeftIsNoAnswerWhereAStaleValueIs) {
  open(failing_safe());
  loader.error = "down";
  loader.let_go();
  store_stale();
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "claim" ? fault::refuse : fault::none;
  };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(strings->stats().stale_after_error, 3u);
}

TEST_F(CacheStale, WhereTooManyLoadTheStaleValueIsTheAnswer) {
  auto options = framed();
  options.freshness.fail_safe = true;
  options.freshness.soft_timeout = 10ms;
  options.bounds.max_waiting = 1;
  open(options);
  store_stale();
  script->entries["other"] = script->entries["k"];
  call& first = ask();
  ASSERT_TRUE(run_until([&] { return first.answers > 0; }));
  call c;
  load(c, "other");
  settle();
  EXPECT_EQ(c.value(), "old");
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(strings->stats().overloaded, 0u);
}

TEST_F(CacheStale, AStaleCopyAtHandIsNoAnswerAfterItsGrace) {
  open(failing_safe());
  loader.error = "down";
  auto header = header_of(ttl);
  header.grace = 100ms;
  store_entry(header);
  auto const end = clock::now() + header.grace + 1ms;
  call& c = ask();
  ASSERT_TRUE(run_until([&] { return clock::now() > end; }));
  loader.let_go();
  settle();
  EXPECT_TRUE(c.failed_with(errc::load_failed)) << c.value();
}

TEST_F(CacheStale, AValueThatIsNotStoredEndsARowOfFailures) {
  auto options = framed();
  options.error_back_off = 10ms;
  options.freshness.max_error_back_off = 10s;
  open(options);
  loader.let_go();
  for (char const* error : {"down", "", "down"}) {
    loader.error = error;
    loader.value = std::string(limits::max_value_bytes, 'x');  // without its header
    ask();
    script->entries["k"].error.clear();
  }
  EXPECT_EQ(loader.runs, 3);
  EXPECT_GE(script->last_back_off, 9ms);
  EXPECT_LE(script->last_back_off, 11ms);
}

TEST_F(CacheStale, AnErrorThatIsLongIsSharedWithItsCount) {
  auto options = framed();
  options.error_back_off = 10ms;
  options.freshness.max_error_back_off = 10s;
  open(options);
  loader.error = std::string(100'000, 'x');
  loader.let_go();
  ask();
  script->entries["k"].error.clear();
  ask();
  auto const& shared = script->entries["k"].error;
  EXPECT_TRUE(shared.ends_with(" [failed 2 times in a row]"));
  EXPECT_LE(shared.size(), 4096u) << "of a longer one the stores cut the end off";
}

// ---------------------------------------------------------------------------- expire, invalidate

TEST_F(CacheStale, AStaleValueThatWasReadBeforeAnInvalidateIsNoAnswerAfterIt) {
  for (bool const safe : {false, true}) {
    open(safe ? failing_safe() : framed());
    loader.error = "down";
    loader.let_go();
    script->script = [](std::string const& verb, std::size_t) {
      return verb == "get" ? fault::delay : fault::none;
    };
    call& c = ask();
    invalidate();
    store_stale();  // as it was when the read came
    script->release_hanging();
    settle();
    EXPECT_TRUE(c.failed_with(errc::load_failed)) << c.value();
    EXPECT_EQ(loader.runs, safe ? 2 : 1);
  }
}

TEST_F(CacheStale, ExpireKeepsTheStaleCopyForTheGrace) {
  open(framed());
  store_entry(header_of(1s));
  EXPECT_TRUE(expire());
  EXPECT_EQ(script->last_keep, grace);
}

TEST_F(CacheStale, AStaleCopyAtHandIsAnAnswerAfterExpireAndNotAfterInvalidate) {
  for (bool const kills : {false, true}) {
    open(failing_safe());
    loader.hold();
    loader.error = "down";
    store_stale();
    call& c = ask();
    EXPECT_EQ(c.answers, 0);
    auto const asked = loader.last->stop();
    if (kills) {
      invalidate();
    } else {
      expire();
    }
    EXPECT_TRUE(asked.stop_requested());
    loader.let_go();
    settle();
    if (kills) {
      EXPECT_TRUE(c.failed_with(errc::load_failed)) << c.value();
    } else {
      EXPECT_EQ(c.value(), "old");
    }
  }
}

TEST_F(CacheStale, AGraceThatIsShorterThanWhatLoadsTakeIsWarnedOfOnceAndByName) {
  auto const warned = [&](milliseconds how_long) {
    auto options = framed();
    options.prefix = "name:";
    options.freshness.grace = how_long;
    open(options);
    for (int i = 0; i < 2 * int(algo::stale_grace_check::enough); ++i) {
      loader.hold();
      load(calls.emplace_back(), std::to_string(i));
      settle();
      auto const slow = clock::now() + 11ms;
      run_until([&] { return clock::now() >= slow; });
      loader.let_go();
      settle();
    }
    return opened->warnings();
  };
  auto const said = warned(10ms);
  ASSERT_EQ(said.size(), 1u);
  auto const has = [&](std::string const& part) { return said[0].find(part) != said[0].npos; };
  EXPECT_TRUE(has("scripted:: the cache with the prefix 'name:' keeps")) << said[0];
  EXPECT_TRUE(has("for 10 ms (freshness.grace)")) << said[0];
  std::string const takes = "its loads usually take ";
  ASSERT_TRUE(has(takes)) << said[0];
  EXPECT_GE(std::stoi(said[0].substr(said[0].find(takes) + takes.size())), 11);
  EXPECT_TRUE(has("use a grace longer than")) << said[0];
  strings.reset();
  settle();
  EXPECT_TRUE(opened->warnings().empty()) << "the cache has gone";
  EXPECT_TRUE(warned(grace).empty());
}

TEST_F(CacheStale, APlainEntryCannotBeExpired) {
  std::optional<result<bool>> done;
  strings->async_expire("k", herdlock_test::as_result([&](result<bool> r) { done = r; }));
  settle();
  ASSERT_TRUE(done && done->has_error());
  EXPECT_EQ(done->error(), errc::not_supported);
  EXPECT_NE(done->error().message.find("cache_format::framed"), std::string::npos);
  EXPECT_EQ(script->count("expire"), 0u);
}

}  // namespace
}  // namespace herdlock::scripted
