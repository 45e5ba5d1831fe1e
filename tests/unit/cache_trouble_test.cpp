// The guarded cache where things go wrong: a store that fails, bounds, bad values, destruction.
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <deque>

#include "cache_fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;
using verbs = std::vector<std::string>;

using CacheTrouble = CacheTest;

// S9
TEST_F(CacheTrouble, AStoreThatFailsIsNotAMiss) {
  open({.bounds = {.max_loads_without_store = 2}});
  script->script = [](auto&&...) { return fault::refuse; };
  std::deque<call> calls(5);
  for (std::size_t i = 0; i < calls.size(); ++i) load(calls[i], "k" + std::to_string(i));
  settle();
  EXPECT_EQ(loader.runs, 2) << "the bound";
  loader.let_go();
  settle();
  for (auto const& c : calls) EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->count("fill") + script->count("claim"), 0u) << "nothing is written";
  EXPECT_EQ(strings->stats().unguarded_loads, 5u);
  EXPECT_EQ(strings->last_store_error(), errc::unavailable);
}

// S9
TEST_F(CacheTrouble, AHangingStoreCostsItsTimeoutOnceAndIsProbedBesideTheCallers) {
  loader.let_go();
  script->script = [](auto&&...) { return fault::hang; };
  call first, second;
  load(first);
  settle();
  EXPECT_EQ(first.answers, 0);
  script->release_hanging();  // the store's own timeout
  settle();
  EXPECT_EQ(first.value(), "loaded");
  load(second);
  settle();
  EXPECT_EQ(second.value(), "loaded") << "at once";
  EXPECT_EQ(script->count("get"), 1u);
  // After the pause one caller's turn sends a probe, for which nobody waits.
  ASSERT_TRUE(run_until([&] {
    call c;
    load(c, "later");
    settle();
    EXPECT_EQ(c.value(), "loaded");
    return script->count("get") == 2;
  }));
  script->script = nullptr;
  script->release_hanging();
  settle();
}

// S9
TEST_F(CacheTrouble, APlainLookAtAFailingStoreIsAnError) {
  script->script = [](auto&&...) { return fault::refuse; };
  std::optional<result<cached<std::string>>> got;
  strings->async_get(cache_key("k"), herdlock_test::as_result([&](result<cached<std::string>> r) {
                       got = std::move(r);
                     }));
  settle();
  ASSERT_TRUE(got && got->has_error());
  EXPECT_EQ(got->error(), errc::unavailable);
}

TEST_F(CacheTrouble, APlainLookTellsValueNegativeEntryAndMissApart) {
  script->entries["value"].value = cache_value("v");
  script->entries["negative"].value = cache_value(absent{});
  auto look = [&](std::string_view name) {
    std::optional<cached<std::string>> got;
    strings->async_get(
        cache_key(name),
        herdlock_test::as_result([&](result<cached<std::string>> r) { got = r.value(); }));
    settle();
    return got.value();
  };
  EXPECT_EQ(*look("value"), "v");
  EXPECT_TRUE(look("negative").is_negative());
  EXPECT_TRUE(look("nothing").is_miss());
  EXPECT_EQ(script->count("claim"), 0u);
}

TEST_F(CacheTrouble, LoadersAreBoundedAndTheOthersQueue) {
  open({.bounds = {.max_loads = 2}});
  std::deque<call> calls(3);
  for (std::size_t i = 0; i < calls.size(); ++i) load(calls[i], "k" + std::to_string(i));
  settle();
  EXPECT_EQ(loader.runs, 2);
  loader.let_go();
  settle();
  for (auto const& c : calls) EXPECT_EQ(c.value(), "loaded");
}

TEST_F(CacheTrouble, OneCallerBeyondTheBoundIsTurnedAway) {
  open({.bounds = {.max_waiting = 3}});
  std::deque<call> calls(4);
  for (auto& c : calls) load(c);
  settle();
  EXPECT_TRUE(calls[3].failed_with(errc::overloaded));
  loader.let_go();
  settle();
  EXPECT_EQ(calls[2].value(), "loaded");
}

TEST_F(CacheTrouble, AValueOverTheLimitAnswersAndIsNotStored) {
  loader.value = std::string(limits::max_value_bytes + 1, 'x');
  loader.let_go();
  call c;
  load(c);
  settle();
  EXPECT_EQ(c.value().size(), limits::max_value_bytes + 1);
  EXPECT_EQ(script->count("fill"), 0u);
  EXPECT_EQ(script->entries["k"].claimant, "") << "the claim is given up";
  EXPECT_EQ(strings->stats().unstorable, 1u);

  loader.value = std::string(limits::max_value_bytes, 'x');
  call at_the_limit;
  load(at_the_limit, "another");
  settle();
  EXPECT_EQ(script->count("fill"), 1u);
}

TEST_F(CacheTrouble, AnEntryThatDoesNotDecodeIsLoadedAnewAndOverwritten) {
  script->entries["k"].value = cache_value(hash_fields{{"another", "format"}});
  loader.let_go();
  call c;
  load(c);
  settle();
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded"));
  EXPECT_EQ(script->log, (verbs{"get", "claim", "invalidate", "claim", "fill"}));
}

TEST_F(CacheTrouble, PrefixAndKeyTogetherAreCheckedBeforeAnythingIsSent) {
  open({.prefix = "p:"});
  loader.let_go();
  call fits, too_long;
  load(fits, std::string(limits::max_name_bytes - 2, 'k'));
  load(too_long, std::string(limits::max_name_bytes - 1, 'k'));
  settle();
  EXPECT_TRUE(too_long.failed_with(errc::invalid_name));
  EXPECT_EQ(script->count("get"), 1u);
  EXPECT_EQ(loader.last->key().str().size(), limits::max_name_bytes - 2) << "without the prefix";
}

TEST_F(CacheTrouble, OptionsOutsideTheirRangesAreRefused) {
  auto code_of = [&](cache_options const& options) {
    try {
      cache<std::string> made(*opened, options);
    } catch (error const& e) {
      return e.code();
    }
    return std::error_code();
  };
  EXPECT_EQ(code_of({.ttl = 0ms}), make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.claim_ttl = limits::max_ttl + 1ms}), make_error_code(errc::invalid_ttl));
  EXPECT_EQ(code_of({.ttl_jitter = 1.0}), make_error_code(errc::invalid_value));
  EXPECT_EQ(code_of({.wait = 0ms}), make_error_code(errc::invalid_value));
  EXPECT_EQ(code_of({.bounds = {.max_loads = 0}}), make_error_code(errc::invalid_value));
  EXPECT_EQ(code_of({.prefix = std::string(limits::max_name_bytes, 'p')}),
            make_error_code(errc::invalid_name));
  EXPECT_FALSE(code_of({}));
}

TEST_F(CacheTrouble, TheLastHandleAnswersEveryoneAndGivesTheClaimUp) {
  loader.heeds = true;
  call c;
  load(c);
  settle();
  strings.reset();
  settle();
  EXPECT_TRUE(c.failed_with(errc::canceled));
  EXPECT_TRUE(loader.last->stop().stop_requested());
  EXPECT_EQ(script->entries["k"].claimant, "");
  loader.let_go();
  settle();
  EXPECT_EQ(c.answers, 1);
}

TEST_F(CacheTrouble, ACopyOfTheHandleKeepsTheLoadsGoing) {
  call c;
  load(c);
  auto const copy = *strings;
  strings.reset();
  settle();
  loader.let_go();
  settle();
  EXPECT_EQ(c.value(), "loaded");
}

TEST_F(CacheTrouble, ACoroutineUsesItWithATimeoutOfItsOwn) {
  std::string slow, quick;
  loader.heeds = true;
  auto body = [&]() -> asio::awaitable<void> {
    auto shared = [this](load_context context) { return loader(std::move(context)); };
    auto late = co_await strings->async_get_or_load(
        "k", shared, asio::cancel_after(5ms, asio::as_tuple(asio::use_awaitable)));
    slow = std::get<0>(late).message;
    loader.heeds = false;
    loader.let_go();
    auto in_time = co_await strings->async_get_or_load("k", shared);
    quick = in_time.value();
  };
  asio::co_spawn(io, body, asio::detached);
  ASSERT_TRUE(run_until([&] { return !quick.empty(); }));
  EXPECT_NE(slow.find("cancelled"), std::string::npos);
  EXPECT_EQ(quick, "loaded");
  EXPECT_EQ(loader.runs, 2) << "the first was asked to stop";
}

// Each operation in turn fails in each way, in a load that succeeds and in one that throws. Every
// caller is answered exactly once, and no claim is left behind.
TEST_F(CacheTrouble, WhateverFailsEveryoneIsAnsweredOnceAndNoClaimIsLeft) {
  for (auto what : {fault::refuse, fault::lose_reply, fault::hang}) {
    for (std::size_t step = 1; step <= 5; ++step) {
      for (std::string const why : {"", "broken"}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(what)) + " at " + std::to_string(step) + why);
        open({.claim_ttl = time_to_begin, .error_back_off = 0ms});
        loader.hold();
        loader.error = why;
        script->script = [=](std::string const&, std::size_t number) {
          return number == step ? what : fault::none;
        };
        std::deque<call> calls(3);
        for (auto& c : calls) load(c);
        settle();
        if (step == 3) {  // let an extension be the one that fails
          EXPECT_TRUE(run_until([&] { return script->log.size() >= 3; }));
        }
        loader.let_go();
        ASSERT_TRUE(run_until([&] {
          script->release_hanging();
          for (auto const& c : calls) {
            if (c.answers == 0) return false;
          }
          return script->entries["k"].claimant.empty();
        })) << "claimant: "
            << script->entries["k"].claimant;
        settle();
        for (auto const& c : calls) {
          EXPECT_EQ(c.answers, 1);
          EXPECT_EQ(c.value(), why.empty() ? "loaded" : "error: broken");
        }
      }
    }
  }
}

}  // namespace
}  // namespace herdlock::scripted
