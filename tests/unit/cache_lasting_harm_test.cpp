// What could go wrong with lasting entries: loaders that outlast their place, other processes'
// entries, clocks that are not known, stores that refuse.
#include "cache_age_fixture.hpp"

namespace herdlock::scripted {
namespace {

class CacheLastingHarm : public CacheAge {
 protected:
  static cache_options scheduled() {
    return {.ttl = lasting,
            .ttl_jitter = 0,
            .format = cache_format::framed,
            .lasting = {.refresh_every = 20ms}};
  }

  void load_counted(std::string const& key) {
    auto counted = [this, key](load_context const&) -> asio::awaitable<text> {
      ++runs[key];
      co_return "loaded " + std::to_string(runs[key]);
    };
    strings->async_get_or_load(key, counted,
                               herdlock_test::as_result(calls.emplace_back().token()));
    settle();
  }
  result<void> put(std::string const& key, std::string value) {
    result<void> done = make_failure(errc::invalid_owner, "not done");
    strings->async_put(key, std::move(value),
                       herdlock_test::as_result([&](result<void> r) { done = std::move(r); }));
    settle();
    return done;
  }
  void refuse(std::string const& verb) {
    script->script = [verb](std::string const& asked, std::size_t) {
      return asked == verb ? fault::refuse : fault::none;
    };
  }
  /// The schedule has looked so often since.
  bool looks_pass(std::size_t looks) {
    auto const before = script->count("get");
    return run_until([&] { return script->count("get") >= before + looks; });
  }

  std::map<std::string, int> runs;
};

// A put voids the load that the schedule runs; the next caller's loader takes its place beside it.
TEST_F(CacheLastingHarm, ALoaderThatRunsOutlivesTheOneThatTakesItsPlace) {
  open(scheduled());
  asio::steady_timer gate(io.get_executor(), asio::steady_timer::time_point::max());
  auto mine = std::make_shared<int>();
  std::weak_ptr<int> const owned = mine;
  auto slow = [this, &gate, mine](load_context const&) -> asio::awaitable<text> {
    if (++runs["slow"] > 1) {
      co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
      co_await gate.async_wait(asio::as_tuple(asio::use_awaitable));
    }
    co_return "slow";
  };
  mine.reset();
  strings->async_get_or_load("k", std::move(slow),
                             herdlock_test::as_result(calls.emplace_back().token()));
  ASSERT_TRUE(run_until([&] { return runs["slow"] == 2; }));
  ASSERT_TRUE(put("k", "put").has_value());
  store_stale();
  loader.let_go();
  ask();
  settle();
  ASSERT_EQ(stored_text(), "loaded");
  EXPECT_FALSE(owned.expired()) << "it runs";
  gate.cancel();
  EXPECT_TRUE(run_until([&] { return owned.expired(); })) << "nothing calls it any more";
  EXPECT_TRUE(run_until([&] { return loader.runs >= 2; })) << "the schedule goes on";
}

// The bound of a fleet is that of its processes together: one that is full takes no other's entry
// away, and lets none become old.
TEST_F(CacheLastingHarm, AProcessAtItsBoundRefreshesTheEntriesOfOthers) {
  auto options = scheduled();
  options.lasting.max_entries = 1;
  open(options);
  load_counted("mine");
  store_stale();
  loader.value = "newer";
  loader.let_go();
  EXPECT_EQ(ask().value(), "old");
  settle();
  EXPECT_EQ(stored_text(), "newer");
  EXPECT_EQ(strings->stats().lasting_entries, 1u) << "it takes no new place";
  EXPECT_EQ(strings->stats().unstorable, 0u);
}

// A fleet that was started anew finds the entries of the one before.
TEST_F(CacheLastingHarm, AnEntryFromBeforeARestartIsScheduledByWhoRefreshesIt) {
  open(scheduled());
  store_stale();
  load_counted("k");
  EXPECT_EQ(calls.back().value(), "old");
  EXPECT_TRUE(run_until([&] { return runs["k"] >= 3; })) << "though nobody asks";
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
}

TEST_F(CacheLastingHarm, AnEntryWhoseTimesAreNotKnownDoesNotEndTheSchedule) {
  open(scheduled());
  load_counted("k");
  auto header = header_of(0ms);
  header.created = {};
  store_entry(header, "made when?");
  int const before = runs["k"];
  ASSERT_TRUE(looks_pass(2));
  settle();
  EXPECT_EQ(runs["k"], before);
  store_stale();
  EXPECT_TRUE(run_until([&] { return runs["k"] > before; }));
}

TEST_F(CacheLastingHarm, TheScheduleIsNobodysCall) {
  auto options = scheduled();
  options.freshness.soft_timeout = 1s;
  open(options);
  load_counted("k");
  EXPECT_TRUE(run_until([&] { return runs["k"] >= 3; }));
  EXPECT_EQ(strings->stats().misses, 1u);
  EXPECT_GE(strings->stats().refreshes, 2u);
  script->entries.erase("k");
  ASSERT_TRUE(looks_pass(1));
  settle();
  EXPECT_EQ(strings->stats().misses, 1u);
}

// What was loaded together is not loaded anew together.
TEST_F(CacheLastingHarm, TheScheduleGoesByTheTimeThatTheJitterGaveAnEntry) {
  auto options = scheduled();
  options.lasting.refresh_every = 400ms;
  options.ttl_jitter = 0.9;
  open(options);
  std::vector<std::string> order;
  std::map<std::chrono::microseconds, std::string> ends;
  for (std::string const key : {"a", "b", "c", "d", "e", "f"}) {
    auto noted = [&, key](load_context const&) -> asio::awaitable<text> {
      if (++runs[key] == 2) order.push_back(key);
      co_return "loaded";
    };
    strings->async_get_or_load(key, noted, herdlock_test::as_result(calls.emplace_back().token()));
    settle();
    auto const read = runtime::without_header(*script->entries[key].value);
    auto const& header = std::get<runtime::framed_value>(read).header;
    ends.emplace(header.created + header.ttl, key);
  }
  ASSERT_TRUE(run_until([&] { return order.size() == 6; }));
  std::vector<std::string> expected;
  for (auto const& [end, key] : ends) expected.push_back(key);
  EXPECT_EQ(order, expected);
}

// "In one process at a time": without a claim nobody could tell.
TEST_F(CacheLastingHarm, TheScheduleLoadsNothingWithoutAClaim) {
  auto options = scheduled();
  options.freshness.soft_timeout = 1s;
  open(options);
  load_counted("k");
  refuse("claim");
  int const before = runs["k"];
  ASSERT_TRUE(looks_pass(4));
  settle();
  EXPECT_EQ(runs["k"], before);
  EXPECT_EQ(strings->stats().unguarded_loads, 0u);
}

TEST_F(CacheLastingHarm, TheScheduleWaitsForTheEndOfABackOff) {
  auto options = scheduled();
  options.error_back_off = 10min;
  open(options);
  auto failing = [this](load_context const&) -> asio::awaitable<text> {
    if (++runs["k"] > 1) throw std::runtime_error("the database is down");
    co_return "loaded";
  };
  strings->async_get_or_load("k", failing, herdlock_test::as_result(calls.emplace_back().token()));
  ASSERT_TRUE(run_until([&] { return runs["k"] == 2; }));
  ASSERT_TRUE(looks_pass(3));
  settle();
  EXPECT_EQ(runs["k"], 2);
  EXPECT_EQ(strings->stats().misses, 1u);
  EXPECT_EQ(strings->stats().shared_errors, 0u);
}

TEST_F(CacheLastingHarm, TheDeadlineOfTheScheduleIsNobodysTimeout) {
  auto options = scheduled();
  options.wait = 30ms;
  open(options);
  load_counted("k");
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "get" ? fault::hang : fault::none;
  };
  ASSERT_TRUE(run_until([&] { return !script->hanging.empty(); }));
  call& late = ask();
  ASSERT_TRUE(run_until([&] { return late.answers == 1; }));
  EXPECT_TRUE(late.failed_with(errc::timed_out));
  EXPECT_EQ(strings->stats().timed_out, 1u);
  script->release_hanging();
  settle();
}

// What the loader no longer has is not what the old entry says, for the rest of its year.
TEST_F(CacheLastingHarm, ThatThereIsNoSuchThingTakesTheOldEntryAwayThoughItIsNotKept) {
  auto options = scheduled();
  options.negative_ttl = 0ms;
  open(options);
  loader.let_go();
  EXPECT_EQ(ask().value(), "loaded");
  loader.value = std::nullopt;
  EXPECT_TRUE(run_until([&] { return !script->entries["k"].value; }));
  EXPECT_EQ(ask().value(), "(nothing)");
  EXPECT_EQ(strings->stats().unstorable, 0u);
  EXPECT_EQ(strings->stats().lasting_entries, 0u);
}

TEST_F(CacheLastingHarm, ThatThereIsNoSuchThingIsNotCountedAsTheOldEntry) {
  open(scheduled());
  loader.let_go();
  ask();
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
  loader.value = std::nullopt;
  EXPECT_TRUE(run_until([&] { return script->last_ttl <= 20s; })) << "a negative entry";
  EXPECT_EQ(strings->stats().lasting_entries, 0u);
  EXPECT_EQ(strings->stats().lasting_bytes, 0u);
}

TEST_F(CacheLastingHarm, WhatTheStoreRefusesAsAValueTakesTheOldEntryAway) {
  open(framed());
  store_stale();
  script->refusal = errc::invalid_value;
  refuse("fill");
  loader.value = "refused";
  loader.let_go();
  EXPECT_EQ(ask().value(), "old");
  settle();
  EXPECT_FALSE(script->entries["k"].value);
  EXPECT_EQ(ask().value(), "refused");
  EXPECT_EQ(loader.runs, 1);
}

// An outage does not fill the cache with what was never stored.
TEST_F(CacheLastingHarm, WhatIsRefusedByTheStoreDoesNotCount) {
  open({.ttl = lasting, .lasting = {.max_entries = 2}});
  ASSERT_TRUE(put("kept", "x").has_value());
  for (std::string const verb : {"put", "fill"}) {
    refuse(verb);
    EXPECT_EQ(put("kept", "y").has_value(), verb == "fill");
    for (std::string const key : {"a", "b", "c"}) {
      if (verb == "put") {
        EXPECT_EQ(put(key, "x").error(), errc::unavailable);
      } else {
        load_counted(key);
      }
    }
    EXPECT_EQ(strings->stats().lasting_entries, 1u) << verb;
    EXPECT_EQ(strings->stats().lasting_bytes, 1u) << verb;
  }
  EXPECT_EQ(strings->stats().unstorable, 0u);
  script->script = nullptr;
  EXPECT_TRUE(put("d", "x").has_value());
}

TEST_F(CacheLastingHarm, WhatAnotherBeatHasNoScheduleHere) {
  open(scheduled());
  load_counted("undisturbed");
  auto superseded = [this](load_context const&) -> asio::awaitable<text> {
    ++runs["k"];
    script->entries["k"].claimant = "another";
    co_return "late";
  };
  strings->async_get_or_load("k", superseded,
                             herdlock_test::as_result(calls.emplace_back().token()));
  settle();
  store_stale();
  script->entries["k"].claimant.clear();
  EXPECT_TRUE(run_until([&] { return runs["undisturbed"] >= 4; }));
  EXPECT_EQ(runs["k"], 1);
  EXPECT_EQ(stored_text(), "old");
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
}

// A read may be answered after a put that was sent later.
TEST_F(CacheLastingHarm, AReadThatCrossesAPutDoesNotUncountIt) {
  open({.ttl = lasting});
  script->script = [](std::string const& asked, std::size_t) {
    return asked == "put" ? fault::delay : fault::none;
  };
  result<void> done = make_failure(errc::invalid_owner, "not done");
  strings->async_put("k", "x",
                     herdlock_test::as_result([&](result<void> r) { done = std::move(r); }));
  settle();
  strings->async_get("k", herdlock_test::as_result([](result<cached<std::string>> const&) {}));
  settle();
  script->release_hanging();
  settle();
  EXPECT_TRUE(done.has_value());
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
}

// B21
TEST_F(CacheLastingHarm, APutIntoAClosedStoreSaysSo) {
  open({.ttl = lasting});
  opened->async_close(herdlock_test::as_result([](result<void> const&) {}));
  settle();
  EXPECT_EQ(put("k", "x").error(), errc::canceled);
  EXPECT_EQ(strings->stats().lasting_entries, 0u);
}

}  // namespace
}  // namespace herdlock::scripted
