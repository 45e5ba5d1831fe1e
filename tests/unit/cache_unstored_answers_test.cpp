// What is loaded and is not in the store: whom it answers, and for how long.
#include <deque>

#include "cache_fixture.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheUnstoredAnswers : public CacheTest {
 protected:
  void open_without_claims(cache_options const& options) {
    open(options);
    script->script = [](std::string const& asked, std::size_t) {
      return asked == "claim" ? fault::refuse : fault::none;
    };
    loader.let_go();
  }
  call& ask(std::string const& key = "k") {
    load(calls.emplace_back(), key);
    settle();
    return calls.back();
  }
  void pass(milliseconds time) {
    auto const until = clock::now() + time;
    run_until([&] { return clock::now() >= until; });
  }

  std::deque<call> calls;
};

// S9: without the store an answer is kept for no longer than the store would keep it.
TEST_F(CacheUnstoredAnswers, AValueIsNotKeptBeyondItsTtl) {
  open_without_claims({.ttl = 10ms, .ttl_jitter = 0});
  EXPECT_EQ(ask().value(), "loaded");
  pass(11ms);
  loader.value = "newer";
  EXPECT_EQ(ask().value(), "newer");
}

TEST_F(CacheUnstoredAnswers, ThatThereIsNoSuchThingIsNotKeptBeyondItsTtl) {
  open_without_claims({.negative_ttl = 0ms});
  loader.value = std::nullopt;
  EXPECT_EQ(ask().value(), "(nothing)");
  loader.value = "there is";
  EXPECT_EQ(ask().value(), "there is");
}

TEST_F(CacheUnstoredAnswers, AnErrorIsNotKeptBeyondItsBackOff) {
  open_without_claims({.error_back_off = 0ms});
  loader.error = "the database is down";
  EXPECT_TRUE(ask().failed_with(errc::load_failed));
  loader.error.clear();
  EXPECT_EQ(ask().value(), "loaded");
}

// S6
TEST_F(CacheUnstoredAnswers, AValueThatCannotBeStoredIsNotKeptWhenItsLoadWasVoided) {
  open({.error_back_off = 10min});
  loader.value = std::string(limits::max_value_bytes + 1, 'x');
  call& voided = ask();
  strings->async_invalidate("k", herdlock_test::as_result([](result<bool> const&) {}));
  settle();
  loader.let_go();
  settle();
  EXPECT_EQ(voided.value().size(), limits::max_value_bytes + 1);
  loader.value = "newer";
  EXPECT_EQ(ask().value(), "newer");
}

// S17. Each is over 16 MiB, and 64 of them would be a gigabyte.
TEST_F(CacheUnstoredAnswers, ValuesThatCannotBeStoredAreKeptUpToABoundInBytes) {
  open({.error_back_off = 10min});
  loader.let_go();
  loader.value = std::string(limits::max_value_bytes + 1, 'x');
  for (auto const* key : {"a", "b", "c", "d"}) ask(key);
  loader.value = "newer";
  EXPECT_EQ(ask("d").value().size(), limits::max_value_bytes + 1);
  EXPECT_EQ(ask("b").value().size(), limits::max_value_bytes + 1) << "three of them fit";
  EXPECT_EQ(ask("a").value(), "newer") << "and no fourth";
}

// The same of what is loaded without the store, for as short a time as that is kept.
TEST_F(CacheUnstoredAnswers, WhatIsLoadedWithoutTheStoreIsKeptUpToABoundInBytes) {
  open_without_claims({});
  loader.value = std::string(limits::max_value_bytes, 'x');
  for (auto const* key : {"a", "b", "c", "d"}) ask(key);
  loader.value = "newer";
  EXPECT_EQ(ask("a").value(), "newer") << "with their keys they are over the bound";
}

// What the database gets: keys beyond the bound are loaded once for each call, the others once.
TEST_F(CacheUnstoredAnswers, BeyondTheBoundOfWhatIsKnownTheOldestKeysAreLoadedAgain) {
  open_without_claims({.bounds = {.max_known_bytes = 65'536}});
  constexpr int keys = 1000, known = 100;
  auto const ask_all = [&](int first) {
    for (int i = first; i < keys; ++i) {
      load(calls.emplace_back(), std::to_string(i));
      if (i % 50 == 0) settle();  // loads that run have room
    }
    settle();
  };
  ask_all(0);
  EXPECT_EQ(loader.runs, keys);
  ask_all(keys - known);
  EXPECT_EQ(loader.runs, keys) << "the newest are known";
  ask();
  EXPECT_EQ(loader.runs, keys + 1);
  load(calls.emplace_back(), "0");
  settle();
  EXPECT_EQ(loader.runs, keys + 2) << "the oldest is not";
}

TEST_F(CacheUnstoredAnswers, WhenAllThatIsKnownIsLoadsOneMoreIsRefused) {
  open({.bounds = {.max_known_bytes = 65'536}});
  std::size_t refused = 0, loaded = 0;
  for (int i = 0; i < 1000; ++i) load(calls.emplace_back(), std::to_string(i));
  settle();
  for (auto const& one : calls) refused += one.failed_with(errc::overloaded) ? 1 : 0;
  EXPECT_GT(refused, 500u);
  EXPECT_LT(refused, 900u);
  EXPECT_TRUE(calls.back().failed_with(errc::overloaded));
  loader.let_go();
  settle();
  for (auto& one : calls) loaded += one.got && !one.failed_with(errc::overloaded) ? 1 : 0;
  EXPECT_EQ(loaded + refused, calls.size()) << "nobody waits for ever";
  EXPECT_EQ(ask("one more").value(), "loaded") << "there is room again";
}

// S5, S9: it has said nothing of the key.
TEST_F(CacheUnstoredAnswers, ALoaderThatWasDestroyedIsNobodysErrorAfterwards) {
  open_without_claims({});
  call leaving;
  {
    asio::io_context gone;
    auto never = [](load_context) -> asio::awaitable<text> {
      asio::steady_timer timer(co_await asio::this_coro::executor,
                               asio::steady_timer::time_point::max());
      co_await timer.async_wait(asio::use_awaitable);
      co_return "never";
    };
    strings->async_get_or_load(
        "k", never,
        herdlock_test::as_result(asio::bind_executor(gone.get_executor(), leaving.token())));
    settle();
    gone.poll();
    ask();
  }
  settle();
  EXPECT_EQ(calls.back().value(), "loaded") << "who waited for it loads";
  EXPECT_EQ(ask().value(), "loaded");
}

// What was loaded without a claim is in no store: as soon as claims work the key is loaded with
// one, so that the others have it, too.
TEST_F(CacheUnstoredAnswers, WhatWasLoadedWithoutTheStoreIsLoadedAnewWhenClaimsWork) {
  open_without_claims({});
  ask();
  script->script = nullptr;
  int others = 0;
  EXPECT_TRUE(run_until([&] {
    ask();
    ask("another " + std::to_string(++others));
    return script->entries["another " + std::to_string(others)].value.has_value();
  }));
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(script->entries["k"].value, cache_value("loaded"));
}

}  // namespace
}  // namespace herdlock::scripted
