// The options of one call: its wait, its soft timeout, and whether a kept value is an answer.
#include <herdlock/open.hpp>
#include <map>

#include "cache_age_fixture.hpp"

namespace herdlock::scripted {
namespace {

using texts = std::vector<result<text>>;

class CacheCallOptions : public CacheAge {
 protected:
  void TearDown() override {
    own.reset();
    CacheAge::TearDown();
  }
  void open_own(cache_options const& options) {
    own.reset();
    open({});
    own.emplace(*opened, options, owned_loader(io.get_executor(), loader_by_reference()));
    settle();
  }
  call& ask(call_options how) {
    auto& c = calls.emplace_back();
    own->async_get_or_load("k", how, herdlock_test::as_result(c.token()));
    settle();
    return c;
  }
  /// The text of the refusal.
  std::string refusal(cache_options const& options, call_options how) {
    open_own(options);
    call& c = ask(how);
    EXPECT_TRUE(c.failed_with(errc::invalid_value));
    EXPECT_EQ(script->count("get"), 0u);
    return c.value();
  }
  static bool contains(std::string const& all, std::string const& part) {
    return all.find(part) != std::string::npos;
  }

  std::optional<cache<std::string>> own;
};

// ------------------------------------------------------------------------------------------ wait

TEST_F(CacheCallOptions, AWaitOfItsOwnEndsACallBeforeThoseThatCameEarlier) {
  open_own({.wait = wait_forever});
  call& patient = ask({});
  call& long_wait = ask({.wait = 1h});
  call& hasty = ask({.wait = 10ms});
  ASSERT_TRUE(run_until([&] { return hasty.answers > 0; }));
  EXPECT_TRUE(hasty.failed_with(errc::timed_out));
  EXPECT_TRUE(contains(hasty.value(), "10 ms")) << hasty.value();
  EXPECT_EQ(patient.answers, 0);
  EXPECT_EQ(long_wait.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(patient.value(), "loaded");
  EXPECT_EQ(long_wait.value(), "loaded");
}

TEST_F(CacheCallOptions, AWaitOfItsOwnOutlastsThatOfTheCache) {
  open_own({.wait = 10ms});
  call& forever = ask({.wait = wait_forever});
  call& usual = ask({});
  ASSERT_TRUE(run_until([&] { return usual.answers > 0; }));
  EXPECT_TRUE(usual.failed_with(errc::timed_out));
  EXPECT_EQ(forever.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(forever.value(), "loaded");
}

TEST_F(CacheCallOptions, ACallWithAWaitOfItsOwnCanBeCancelledAndEndsWithTheCache) {
  open_own({});
  call& canceled = ask({.wait = 1h});
  call& left = ask({.wait = 2h});
  canceled.cancel.emit(asio::cancellation_type::terminal);
  settle();
  EXPECT_TRUE(canceled.failed_with(errc::canceled));
  own.reset();
  settle();
  EXPECT_TRUE(left.failed_with(errc::canceled));
}

TEST_F(CacheCallOptions, CallersWithWaitsOfTheirOwnCountAmongThoseWhoWait) {
  open_own({.bounds = {.max_waiting = 2}});
  ask({.wait = 1h});
  ask({});
  EXPECT_TRUE(ask({.wait = 1h}).failed_with(errc::overloaded));
  EXPECT_TRUE(ask({}).failed_with(errc::overloaded));
  loader.let_go();
  settle();
  EXPECT_EQ(ask({.wait = 1h}).value(), "loaded");
}

TEST_F(CacheCallOptions, ALookHasAWaitToo) {
  open_own({.wait = wait_forever});
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "get" ? fault::delay : fault::none;
  };
  std::optional<result<cached<std::string>>> got;
  own->async_get("k", {.wait = 10ms},
                 herdlock_test::as_result([&](auto r) { got = std::move(r); }));
  ASSERT_TRUE(run_until([&] { return got.has_value(); }));
  EXPECT_TRUE(got->has_error() && got->error() == errc::timed_out);
  script->release_hanging();
}

TEST_F(CacheCallOptions, ACallForManyHasThemForEachKey) {
  open_own({.wait = wait_forever});
  std::optional<texts> got;
  own->async_get_many_or_load({"a", "b"}, call_options{.wait = 10ms},
                              [&](texts all) { got = std::move(all); });
  ASSERT_TRUE(run_until([&] { return got.has_value(); }));
  for (auto const& one : *got) EXPECT_TRUE(one.has_error() && one.error() == errc::timed_out);
}

TEST_F(CacheCallOptions, LoadNowHasAWaitAndNoUseForASoftTimeout) {
  open_own({.wait = wait_forever});
  auto const load_now = [&](call_options how) -> call& {
    auto& c = calls.emplace_back();
    own->async_load_now("k", how, herdlock_test::as_result(c.token()));
    settle();
    return c;
  };
  call& hasty = load_now({.wait = 10ms});
  ASSERT_TRUE(run_until([&] { return hasty.answers > 0; }));
  EXPECT_TRUE(hasty.failed_with(errc::timed_out));
  EXPECT_TRUE(load_now({.wait = 0ms}).failed_with(errc::invalid_value));
  loader.let_go();
  settle();
  EXPECT_EQ(load_now({.soft_timeout = 1ms}).value(), "loaded") << "of plain entries";
}

// ---------------------------------------------------------------------------------- soft timeout

TEST_F(CacheCallOptions, ACallGetsTheStaleValueAfterItsOwnSoftTimeout) {
  open_own(framed());
  store_stale();
  call& c = ask({.soft_timeout = 20ms});
  EXPECT_EQ(c.answers, 0) << "the cache would have answered at once";
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_EQ(c.value(), "old");
  loader.let_go();
  settle();
  EXPECT_EQ(stored_text(), "loaded");
  EXPECT_EQ(own->stats().soft_timeouts, 1u);
}

TEST_F(CacheCallOptions, NoneAtAllIsNoWaitWhateverTheCacheSays) {
  auto options = framed();
  options.freshness.soft_timeout = 20s;
  open_own(options);
  store_stale();
  EXPECT_EQ(ask({.soft_timeout = 0ms}).value(), "old");
  EXPECT_EQ(loader.runs, 1) << "behind the answer";
}

TEST_F(CacheCallOptions, ThatOfALaterCallerMayEndFirst) {
  open_own(framed());
  store_stale();
  call& first = ask({.soft_timeout = 20s});
  call& second = ask({.soft_timeout = 10ms});
  ASSERT_TRUE(run_until([&] { return second.answers > 0; }));
  EXPECT_EQ(second.value(), "old");
  EXPECT_EQ(first.answers, 0);
  loader.let_go();
  settle();
  EXPECT_EQ(first.value(), "loaded");
}

// ---------------------------------------------------------------------------------- kept values

TEST_F(CacheCallOptions, ACallThatSkipsKeptValuesAsksTheStore) {
  tracks = true;
  open_own({.near = {.mode = near_cache::all, .untracked_age = 1h}});
  loader.let_go();
  ASSERT_TRUE(run_until([&] {
    EXPECT_EQ(ask({}).value(), "loaded");
    return own->stats().near_hits > 0;
  }));
  auto const before = script->count("get");
  EXPECT_EQ(ask({.near = near_values::skipped}).value(), "loaded");
  EXPECT_EQ(script->count("get"), before + 1);
  EXPECT_EQ(ask({}).value(), "loaded");
  EXPECT_EQ(script->count("get"), before + 1) << "the value is still kept";
}

// --------------------------------------------------------------------------------------- refused

TEST_F(CacheCallOptions, WhatTheCacheHasNotWhatItNeedsForIsRefusedByName) {
  EXPECT_TRUE(contains(refusal({}, {.soft_timeout = 1ms}), "format = cache_format::framed"));
  EXPECT_TRUE(contains(refusal({.format = cache_format::framed}, {.soft_timeout = 1ms}),
                       "freshness.grace"));
  EXPECT_TRUE(contains(refusal(framed(), {.soft_timeout = wait_forever}), "freshness.fail_safe"));
  EXPECT_TRUE(contains(refusal(framed(), {.wait = 5ms, .soft_timeout = 5ms}), "less than wait"));
  EXPECT_TRUE(contains(refusal(framed(), {.soft_timeout = -1ms}), "soft_timeout: use 0"));
  EXPECT_TRUE(contains(refusal(framed(), {.wait = 0ms}), "call option wait: use 1 ms"));
  auto options = framed();
  options.freshness.soft_timeout = 1s;
  EXPECT_TRUE(contains(refusal(options, {.wait = 1s}), "more than the cache's"));
}

TEST_F(CacheCallOptions, ASoftTimeoutNeedsALoaderThatTheCacheOwns) {
  cache<std::string> const none(*opened, framed());
  auto& c = calls.emplace_back();
  none.async_get_or_load("k", loader_by_reference(), call_options{.soft_timeout = 1ms},
                         herdlock_test::as_result(c.token()));
  settle();
  EXPECT_TRUE(c.failed_with(errc::invalid_value));
  EXPECT_TRUE(contains(c.value(), "call option soft_timeout")) << c.value();
  auto options = framed();
  options.freshness.soft_timeout = 1s;
  cache<std::string> const soft(*opened, options);
  auto& other = calls.emplace_back();
  loader.let_go();
  soft.async_get_or_load("k", loader_by_reference(), call_options{.soft_timeout = 0ms},
                         herdlock_test::as_result(other.token()));
  settle();
  EXPECT_EQ(other.value(), "loaded") << "it asks for none";
}

// ----------------------------------------------------------------------------- the blocking calls

TEST(CacheCallOptionsBlocking, AllCallsTakeThem) {
  using values = std::map<std::string, std::string>;
  auto load = [] { return std::string("loaded"); };
  auto load_many = [](std::vector<std::string> const&) { return values{{"m", "many"}}; };
  cache<std::string> const strings(open_store("memory:"), cache_options{}, load);
  call_options const how{.wait = 5s, .near = near_values::skipped};
  EXPECT_EQ(strings.get_or_load("k", load, how), "loaded");
  EXPECT_EQ(strings.get_or_load("l", how), "loaded");
  EXPECT_EQ(strings.load_now("k", load, how), "loaded");
  EXPECT_EQ(strings.load_now("l", how), "loaded");
  EXPECT_EQ(*strings.get_or_load_shared("k", load, how), "loaded");
  EXPECT_EQ(*strings.get_or_load_shared("k", {.wait = 5s}), "loaded");
  EXPECT_EQ(*strings.get("k", {.wait = 5s}), "loaded");
  EXPECT_EQ(**strings.get_shared("k", how), "loaded");
  EXPECT_EQ(strings.get_many_or_load({"m"}, load_many, how).at(0).value(), "many");
  EXPECT_EQ(strings.get_many_or_load({"k"}, how).at(0).value(), "loaded");
  EXPECT_THROW(strings.get("k", {.wait = 0ms}), error);
}

}  // namespace
}  // namespace herdlock::scripted
