// How calls of a cache end while a loader runs: their own, another's, the cache's.
#include <map>

#include "cache_fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using CacheEnds = CacheTest;

TEST_F(CacheEnds, AJoinersCancellationIsHisOwnAndAtOnce) {
  call first, second;
  load(first);
  load(second);
  settle();
  second.cancel.emit(asio::cancellation_type::total);
  settle();
  EXPECT_TRUE(second.failed_with(errc::canceled));
  EXPECT_FALSE(loader.last->stop().stop_requested());
  loader.let_go();
  settle();
  EXPECT_EQ(first.value(), "loaded");
}

TEST_F(CacheEnds, ALoaderThatNobodyWaitsForIsAskedToStopAndItsExceptionIsNobodysError) {
  loader.heeds = true;
  call c;
  load(c);
  settle();
  c.cancel.emit(asio::cancellation_type::total);
  settle();
  EXPECT_TRUE(c.failed_with(errc::canceled)) << c.value();
  EXPECT_EQ(script->entries["k"].claimant, "") << "the claim is given back";
  EXPECT_EQ(script->entries["k"].error, "") << "nothing is shared";
  loader.heeds = false;
  loader.let_go();
  call next;
  load(next);
  settle();
  EXPECT_EQ(next.value(), "loaded") << "no back-off has begun";
}

TEST_F(CacheEnds, WhoCameBehindTheRequestLoadsUnderTheSameClaim) {
  held_loader slow(io.get_executor());
  call first, second;
  strings->async_get_or_load(
      "k", [&](load_context context) { return slow(std::move(context)); },
      herdlock_test::as_result(first.token()));
  settle();
  first.cancel.emit(asio::cancellation_type::total);
  settle();
  EXPECT_TRUE(slow.last->stop().stop_requested());
  load(second);
  settle();
  EXPECT_EQ(loader.runs, 0) << "the first has not ended";
  slow.error = "stopped";
  slow.let_go();
  settle();
  EXPECT_TRUE(first.failed_with(errc::canceled));
  EXPECT_EQ(loader.runs, 1);
  loader.let_go();
  settle();
  EXPECT_EQ(second.value(), "loaded");
  EXPECT_EQ(script->count("claim"), 1u);
}

TEST_F(CacheEnds, TheSecondWhoWaitsLoadsWhenTheFirstHasGoneBeforeItBegan) {
  open({.bounds = {.max_loads = 1}});
  call other, first, second;
  load(other, "other");
  settle();
  held_loader never(io.get_executor());
  strings->async_get_or_load(
      "k", [&](load_context context) { return never(std::move(context)); },
      herdlock_test::as_result(first.token()));
  load(second);
  settle();
  first.cancel.emit(asio::cancellation_type::total);
  settle();
  EXPECT_TRUE(first.failed_with(errc::canceled)) << "it waits for a slot, and goes at once";
  loader.let_go();
  settle();
  EXPECT_EQ(never.runs, 0);
  EXPECT_EQ(second.value(), "loaded");
}

TEST_F(CacheEnds, ACallWhoseLoadWasVoidedLooksAgainWhenItsLoaderHasEnded) {
  loader.heeds = true;
  call c;
  load(c);
  settle();
  strings->async_put("k", "put", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  EXPECT_EQ(c.value(), "put");
  EXPECT_EQ(loader.runs, 1);
}

TEST_F(CacheEnds, ALoadOfTheCachesOwnLoaderGoesOnWhenItsCallersHaveLeft) {
  open({.wait = time_to_begin});
  auto own = [this](load_context context) { return loader(std::move(context)); };
  cache<std::string> const owning(*opened, {.wait = time_to_begin},
                                  owned_loader(io.get_executor(), own));
  call c;
  owning.async_get_or_load("k", herdlock_test::as_result(c.token()));
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_TRUE(c.failed_with(errc::timed_out));
  EXPECT_FALSE(loader.last->stop().stop_requested());
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return script->entries["k"].value.has_value(); }));
  EXPECT_EQ(loader.runs, 1);
}

// What a call was given, with a word at its end.
struct told_at_its_end {
  bool* ended;
  told_at_its_end(bool* e) : ended(e) {}
  told_at_its_end(told_at_its_end&& other) noexcept : ended(std::exchange(other.ended, nullptr)) {}
  told_at_its_end(told_at_its_end const& other) = default;
  told_at_its_end& operator=(told_at_its_end const&) = delete;
  ~told_at_its_end() {
    if (ended) *ended = true;
  }
};

TEST_F(CacheEnds, NothingOfALoaderIsLeftWhenItsCallIsAnswered) {
  bool one_ended = false, many_ended = false, one_seen = false, many_seen = false;
  {
    auto one = [this, last = told_at_its_end(&one_ended)](load_context context) {
      return loader(std::move(context));
    };
    auto many = [this, last = told_at_its_end(&many_ended)](std::vector<std::string> const&)
        -> asio::awaitable<std::map<std::string, std::string>> {
      auto gate = loader(load_context{cache_key("gate"), {}, {}});
      co_await std::move(gate);
      co_return std::map<std::string, std::string>();
    };
    strings->async_get_or_load("k", std::move(one),
                               herdlock_test::as_result([&](auto&&) { one_seen = one_ended; }));
    strings->async_get_many_or_load({"a", "b"}, std::move(many),
                                    [&](auto&&) { many_seen = many_ended; });
  }
  settle();
  one_ended = many_ended = false;  // copies on the way
  loader.let_go();
  settle();
  EXPECT_TRUE(one_seen);
  EXPECT_TRUE(many_seen);
}

// The handler has an executor of its own, and its loader outlives the store's.
TEST_F(CacheEnds, ALoaderMayOutliveTheExecutorOfTheStore) {
  call c;
  asio::io_context other;
  held_loader slow(other.get_executor());
  {
    asio::io_context own;
    auto make = [&](asio::any_io_executor executor) -> result<backend> {
      return backend{nullptr, std::make_shared<scripted_cache_store>(executor),
                     {},      "scripted:",
                     {},      nullptr,
                     {},      nullptr};
    };
    {
      auto const values = store::over(make, {.executor = own.get_executor()}).value();
      cache<std::string> const short_lived(values);
      short_lived.async_get_or_load(
          "k", [&](load_context context) { return slow(std::move(context)); },
          herdlock_test::as_result(asio::bind_executor(other.get_executor(), c.token())));
      for (int i = 0; i < 3; ++i) {
        own.restart();
        own.poll();
        other.restart();
        other.poll();
      }
      EXPECT_EQ(slow.runs, 1);
    }
    own.restart();
    own.poll();
  }
  EXPECT_EQ(c.answers, 0);
  slow.let_go();
  other.restart();
  other.run();
  EXPECT_EQ(c.value(), "loaded");
}

}  // namespace
}  // namespace herdlock::scripted
