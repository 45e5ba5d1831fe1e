// The guarded cache where its store refuses some keys: the others go on as if nothing were, and who
// asks for a refused one does not load at each call.
#include <deque>

#include "algo/key_records.hpp"
#include "cache/engine/shared_looks.hpp"
#include "cache/keys/unstored.hpp"
#include "cache_fixture.hpp"
#include "support/as_result.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

class CacheKeyTrouble : public CacheTest {
 protected:
  /// `verb` for the key fails in this way from now on.
  void refuse(std::string verb, std::string key, errc why) {
    script->refusal = why;
    script->script = [this, verb = std::move(verb), key = std::move(key)](std::string const& asked,
                                                                          std::size_t) {
      bool const is_key = key.empty() || script->asked == key;
      return asked == verb && is_key ? fault::refuse : fault::none;
    };
  }
  call& ask(std::string const& key) {
    load(calls.emplace_back(), key);
    settle();
    return calls.back();
  }
  void put(std::string const& key, std::string const& value) {
    strings->async_put(key, value, herdlock_test::as_result([](result<void> const&) {}));
    settle();
  }
  std::size_t warnings_with(std::string const& words) const {
    auto const all = opened->warnings();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](auto const& one) {
      return one.find(words) != std::string::npos;
    }));
  }
  /// Answers are kept for so many periods since then.
  static auto periods_since(clock::time_point began) {
    return 1 + (clock::now() - began) / runtime::cache_unstored::longest_unguarded;
  }

  std::deque<call> calls;
};

constexpr errc refusals_of_a_key[] = {errc::access_denied, errc::protocol, errc::overloaded,
                                      errc::moving};

// S15
TEST_F(CacheKeyTrouble, AKeyWhoseClaimIsRefusedIsNotLoadedByEveryCaller) {
  for (auto const why : refusals_of_a_key) {
    SCOPED_TRACE(static_cast<int>(why));
    open({});
    loader.let_go();
    loader.runs = 0;
    refuse("claim", "denied", why);
    auto const began = clock::now();
    for (int i = 0; i < 200; ++i) EXPECT_EQ(ask("denied").value(), "loaded");
    EXPECT_LE(loader.runs, periods_since(began));
  }
}

// S15
TEST_F(CacheKeyTrouble, AKeyWhoseClaimIsRefusedLeavesTheClaimsOfOthersAlone) {
  for (auto const why : refusals_of_a_key) {
    SCOPED_TRACE(static_cast<int>(why));
    open({});
    loader.let_go();
    refuse("claim", "denied", why);
    ask("denied");
    EXPECT_EQ(ask("permitted").value(), "loaded");
    EXPECT_EQ(script->entries["permitted"].value, cache_value("loaded"));
    EXPECT_EQ(strings->stats().unguarded_loads, 1u) << "that of the denied one";
  }
}

// S15, S6
TEST_F(CacheKeyTrouble, WhatWasLoadedForARefusedKeyIsNoAnswerBehindAPut) {
  loader.let_go();
  refuse("claim", "denied", errc::access_denied);
  ask("denied");
  strings->async_invalidate("denied", herdlock_test::as_result([](result<bool> const&) {}));
  settle();
  loader.value = "newer";
  EXPECT_EQ(ask("denied").value(), "newer");
}

// S15
TEST_F(CacheKeyTrouble, RefusedClaimsAreWarnedOfOnceWithTheWayOut) {
  open({.prefix = "p:"});
  loader.let_go();
  refuse("claim", "", errc::access_denied);
  for (int i = 0; i < 3; ++i) ask("k" + std::to_string(i));
  EXPECT_EQ(warnings_with("the cache with the prefix 'p:' cannot claim keys"), 1u);
  EXPECT_EQ(warnings_with("`herdlock doctor`"), 1u);
  script->refusal = errc::protocol;
  for (int i = 3; i < 6; ++i) ask("k" + std::to_string(i));
  EXPECT_EQ(warnings_with("cannot claim keys"), 2u) << "no sense in the answer is another trouble";
  EXPECT_EQ(warnings_with("the keys beside it"), 1u);
}

TEST_F(CacheKeyTrouble, EachStepThatIsRefusedIsWarnedOf) {
  loader.let_go();
  refuse("get", "", errc::access_denied);
  ask("a");
  EXPECT_EQ(warnings_with("cannot read entries"), 1u);
  refuse("fill", "", errc::access_denied);
  ask("b");
  EXPECT_EQ(warnings_with("cannot store values"), 1u);
  loader.error = "broken";
  refuse("fail", "", errc::access_denied);
  ask("c");
  EXPECT_EQ(warnings_with("cannot end its claims"), 1u);
}

TEST_F(CacheKeyTrouble, AnOutageIsNoRefusal) {
  loader.let_go();
  refuse("claim", "", errc::unavailable);
  ask("a");
  EXPECT_TRUE(opened->warnings().empty());
}

// S15: one denied key, and the cached ones were loaded.
TEST_F(CacheKeyTrouble, AReadThatIsRefusedLeavesTheReadsOfOthersAlone) {
  for (auto const why : refusals_of_a_key) {
    SCOPED_TRACE(static_cast<int>(why));
    open({});
    loader.let_go();
    loader.runs = 0;
    script->entries["a"].value = cache_value("from the store");
    refuse("get", "b", why);
    auto const began = clock::now();
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(ask("b").value(), "loaded");
      EXPECT_EQ(ask("a").value(), "from the store");
    }
    EXPECT_EQ(strings->stats().hits, 100u);
    EXPECT_LE(loader.runs, periods_since(began));
  }
}

// S15
TEST_F(CacheKeyTrouble, AProbeThatMeetsARefusedKeyHasFoundTheStore) {
  loader.let_go();
  script->entries["a"].value = cache_value("from the store");
  script->refusal = errc::unavailable;
  script->script = [](auto&&...) { return fault::refuse; };
  ask("a");
  refuse("get", "b", errc::access_denied);
  auto const probes = [&] { return script->count("get") > 1; };
  ASSERT_TRUE(run_until([&] {
    ask("b");
    return probes();
  }));
  EXPECT_EQ(ask("a").value(), "from the store");
}

// S15: a server with room for small entries and none for a large one.
TEST_F(CacheKeyTrouble, AValueThatFindsNoRoomLeavesTheOthersAlone) {
  for (auto const why : {errc::unavailable, errc::access_denied, errc::protocol}) {
    SCOPED_TRACE(static_cast<int>(why));
    open({});
    loader.let_go();
    loader.runs = 0;
    refuse("fill", "large", why);
    auto const began = clock::now();
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ask("large").value(), "loaded");
    EXPECT_LE(loader.runs, periods_since(began));
    EXPECT_EQ(ask("small").value(), "loaded");
    EXPECT_EQ(script->entries["small"].value, cache_value("loaded"));
    EXPECT_EQ(strings->stats().unguarded_loads, 0u);
  }
}

// S15: each try of a value that is too large costs the server its room, or the connection.
TEST_F(CacheKeyTrouble, AValueThatFindsNoRoomIsSentLessAndLessOften) {
  loader.let_go();
  refuse("fill", "large", errc::unavailable);
  auto const began = clock::now();
  ask("large");
  EXPECT_EQ(script->count("fill"), 1u);
  ASSERT_TRUE(run_until([&] {
    ask("large");
    return loader.runs == 2;
  }));
  auto const pauses = (clock::now() - began) / algo::key_pause::first;
  EXPECT_LE(script->count("fill"), 1 + pauses) << "loaded again after 250 ms, and not sent again";
  EXPECT_EQ(script->entries["large"].claimant, "") << "the claim is given up";
  put("large", "put");
  script->entries["large"].value.reset();
  script->script = nullptr;
  EXPECT_EQ(ask("large").value(), "loaded");
  EXPECT_EQ(script->entries["large"].value, cache_value("loaded")) << "behind a put it is";
}

// --------------------------------------------------------------------------- writes that worked

class CacheBack : public CacheKeyTrouble {
 protected:
  CacheBack() {
    loader.let_go();
    script->script = [](auto&&...) { return fault::refuse; };
    ask("k");
    EXPECT_EQ(look(), "error");
    script->script = nullptr;
    script->log.clear();
  }
  std::string look() {
    std::string got = "(no answer)";
    strings->async_get("k", herdlock_test::as_result([&](result<cached<std::string>> const& r) {
                         got = r.has_error() ? "error" : r->is_miss() ? "(nothing)" : **r;
                       }));
    settle();
    return got;
  }
  void expect_that_it_is_asked_again() {
    EXPECT_NE(look(), "error");
    EXPECT_EQ(ask("next").value(), "loaded");
    EXPECT_EQ(script->entries["next"].value, cache_value("loaded")) << "claimed and stored";
  }
};

// S9
TEST_F(CacheBack, AfterAPutTheStoreIsAskedAgainAtOnce) {
  put("k", "put");
  EXPECT_EQ(look(), "put");
  EXPECT_EQ(ask("k").value(), "put");
  expect_that_it_is_asked_again();
}

// S9
TEST_F(CacheBack, AfterAnInvalidateTheStoreIsAskedAgainAtOnce) {
  strings->async_invalidate("k", herdlock_test::as_result([](result<bool> const&) {}));
  settle();
  expect_that_it_is_asked_again();
}

// S9
TEST_F(CacheBack, AWriteThatFailedSaysNothing) {
  script->script = [](auto&&...) { return fault::refuse; };
  put("k", "put");
  script->script = nullptr;
  EXPECT_EQ(look(), "error");
}

// S9
TEST_F(CacheKeyTrouble, AfterAFillClaimsAreAskedForAgainAtOnce) {
  call filling, refused, next;
  load(filling, "filling");
  settle();
  refuse("claim", "refused", errc::unavailable);
  load(refused, "refused");
  settle();
  loader.let_go();
  settle();
  ASSERT_EQ(script->entries["filling"].value, cache_value("loaded"));
  load(next, "next");
  settle();
  EXPECT_EQ(script->entries["next"].value, cache_value("loaded"));
}

// A full store takes deletions, and refuses claims.
TEST_F(CacheKeyTrouble, ADeletionBetweenRefusedClaimsDoesNotEndWhatWasLoadedWithoutThem) {
  loader.let_go();
  refuse("claim", "k", errc::unavailable);
  auto const began = clock::now();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(ask("k").value(), "loaded");
    strings->async_invalidate("other", herdlock_test::as_result([](result<bool> const&) {}));
    settle();
  }
  EXPECT_LE(loader.runs, periods_since(began));
}

// -------------------------------------------------------------------------- more than a store
// takes

// S15: a bound of the store made loads of what was cached.
TEST_F(CacheKeyTrouble, SoManyReadsAreUnderWayAtOnceAndTheOthersWait) {
  constexpr auto most = runtime::shared_looks::most_under_way;
  constexpr std::size_t more = 10;
  open({.wait = wait_forever, .bounds = {.max_waiting = 2 * most}});
  for (std::size_t i = 0; i < most + more; ++i) {
    script->entries["k" + std::to_string(i)].value = cache_value("stored");
  }
  script->script = [](auto&&...) { return fault::delay; };
  for (std::size_t i = 0; i < most + more; ++i) load(calls.emplace_back(), "k" + std::to_string(i));
  settle();
  EXPECT_EQ(script->count("get"), most);
  load(calls.emplace_back(), "k" + std::to_string(most + more - 1));
  load(calls.emplace_back(), "one more");
  script->entries["one more"].value = cache_value("stored");
  settle();
  EXPECT_EQ(script->count("get"), most);
  script->script = nullptr;
  script->release_hanging();
  settle();
  for (auto const& each : calls) EXPECT_EQ(each.value(), "stored");
  EXPECT_EQ(script->count("get"), most + more + 1)
      << "who asks for a key that waits shares its read";
  EXPECT_EQ(loader.runs, 0);
}

// S9: a timeout for each part of them would be many.
TEST_F(CacheKeyTrouble, ReadsThatWaitGoWithoutAStoreThatHangs) {
  constexpr auto most = runtime::shared_looks::most_under_way;
  constexpr std::size_t more = 10;
  open({.wait = wait_forever, .bounds = {.max_waiting = 2 * most}});
  loader.let_go();
  script->script = [](auto&&...) { return fault::hang; };
  for (std::size_t i = 0; i < most + more; ++i) load(calls.emplace_back(), "k" + std::to_string(i));
  settle();
  script->release_hanging();
  settle();
  for (auto const& each : calls) EXPECT_EQ(each.value(), "loaded");
  EXPECT_EQ(script->count("get"), most);
}

// The places of those that were sent are used again while others wait.
TEST(SharedLooks, WhoeverComesForAKeyThatWaitsSharesItsReadHoweverManyWereSent) {
  struct asker final : detail::cache_caller {
    explicit asker(std::string const& name)
        : cache_caller(cache_key(name), detail::caller_wish::look, detail::loader_from::cache) {}
    void complete(result<detail::cache_answer>) override {}
    bool start_load(load_context, detail::load_sink) override { return false; }
    void abandon() override {}
  };
  constexpr auto most = runtime::shared_looks::most_under_way;
  algo::key_records records(64 << 20);
  runtime::shared_looks looks(records);
  std::size_t sent = 0, callers = 0;
  auto const add = [&](std::size_t i) {
    looks.add(std::make_shared<asker>("k" + std::to_string(i)));
  };
  auto const send = [&] {
    looks.send_some([&](runtime::shared_looks::group const& one) {
      ++sent;
      one.for_each([&](auto const&) { ++callers; });
    });
  };
  for (std::size_t i = 0; i < 4 * most; ++i) add(i);
  send();
  EXPECT_EQ(sent, most);
  for (std::size_t ended = 1; ended < 3 * most; ++ended) {
    EXPECT_TRUE(looks.ended());
    send();
    EXPECT_EQ(sent, most + ended);
    add(4 * most - 1);  // waits to the last
  }
  while (looks.ended()) send();
  EXPECT_EQ(sent, 4 * most);
  EXPECT_EQ(callers, 4 * most + 3 * most - 1);
}

}  // namespace
}  // namespace herdlock::scripted
