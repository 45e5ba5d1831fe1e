// Entries with tags: which of them a tag ends, when that is seen, and what it asks of the store.
#include "cache_tags_fixture.hpp"

namespace herdlock::scripted {
namespace {

TEST_F(CacheTags, AnEntryHasTheGenerationsOfItsTags) {
  EXPECT_EQ(load_here("a"), "a");
  auto const tags = stored_tags();
  ASSERT_TRUE(tags.has_value());
  ASSERT_EQ(tags->size(), 2u);
  EXPECT_EQ((*tags)[0].name, "of k");
  EXPECT_EQ((*tags)[1].name, "t");
  for (auto const& one : *tags) EXPECT_NE(one.made_in, algo::tag_generations{});
  EXPECT_EQ(load_there("never"), "a");
  EXPECT_EQ(loader.runs, 1);
}

TEST_F(CacheTags, InvalidateTagIsOneCommandAndEndsAllEntriesWithTheTag) {
  load_here("a", "k");
  load_here("b", "l");
  script->log.clear();
  invalidate_there();
  EXPECT_EQ(script->log, std::vector<std::string>{"invalidate"});
  EXPECT_EQ(load_here("c", "k"), "c");
  EXPECT_EQ(load_here("d", "l"), "d");
  EXPECT_EQ(load_there("never", "k"), "c");
  EXPECT_EQ(load_there("never", "l"), "d");
}

TEST_F(CacheTags, OtherTagsEndNothingOfIt) {
  load_here("a", "k");
  load_here("b", "l");
  invalidate_there("of l");
  invalidate_there("unknown");
  EXPECT_EQ(load_here("never", "k"), "a");
  EXPECT_EQ(load_here("c", "l"), "c");
}

TEST_F(CacheTags, ExpireTagIsOneCommandAndItsEntriesAnswerWhileOneLoadsAnew) {
  load_here("a");
  load_there("never");
  script->log.clear();
  expire_here();
  EXPECT_EQ(script->log, std::vector<std::string>{"expire"});
  EXPECT_EQ(begin(*strings).value(), "a");
  EXPECT_EQ(begin(*other).value(), "a");
  EXPECT_EQ(begin(*strings).value(), "a");
  EXPECT_EQ(loader.runs, 2) << "the first, and one behind the answers";
  loader.value = "b";
  loader.let_go();
  settle();
  EXPECT_EQ(load_here("never"), "b");
  EXPECT_EQ(load_there("never"), "b");
}

// The record is written anew by one of them; the next finds it new.
TEST_F(CacheTags, AfterExpireTagOneProcessMakesTheNextGenerationAndNotOneAfterTheOther) {
  load_here("a", "k");
  load_here("b", "l");
  expire_here();
  loader.let_go();
  loader.value = "c";
  begin(*strings, "k");
  auto const made = script->entries[record].value;
  begin(*other, "l");
  begin(*strings, "m");
  begin(*other, "n");
  EXPECT_EQ(script->entries[record].value, made);
  loader.hold();
  EXPECT_EQ(load_here("never", "k"), "c");
  EXPECT_EQ(load_there("never", "l"), "c");
  EXPECT_EQ(load_there("never", "m"), "c");
}

TEST_F(CacheTags, WithoutAGraceExpireTagLeavesNothing) {
  auto options = tagged();
  options.freshness.grace = 0ms;
  open_tagged(options);
  load_here("a");
  expire_here();
  EXPECT_EQ(load_here("b"), "b");
}

TEST_F(CacheTags, InvalidateTagBehindExpireTagLeavesNothingStale) {
  load_here("a");
  expire_here();
  invalidate_there();
  EXPECT_EQ(load_here("b"), "b");
}

// R22: the record is missing, which is a change, and not generation 0.
TEST_F(CacheTags, ARecordThatTheStoreHasEvictedEndsItsEntries) {
  load_here("a");
  script->entries.erase(record);
  EXPECT_EQ(load_here("b"), "b");
  EXPECT_EQ(load_there("never"), "b");
}

TEST_F(CacheTags, ALookTakesAnEntryThatATagEndedForAMiss) {
  load_here("a");
  auto const look = [this] {
    std::optional<cached<std::string>> found;
    auto told = [&](result<cached<std::string>> r) { found = *std::move(r); };
    strings->async_get("k", herdlock_test::as_result(told));
    settle();
    return found;
  };
  EXPECT_TRUE(look()->operator bool());
  invalidate_there();
  EXPECT_TRUE(look()->is_miss());
}

TEST_F(CacheTags, APutHasTheTagsOfItsKey) {
  put("a");
  ASSERT_TRUE(stored_tags().has_value());
  EXPECT_EQ(stored_tags()->size(), 2u);
  EXPECT_EQ(load_there("never"), "a");
  invalidate_there();
  EXPECT_EQ(load_there("b"), "b");
}

TEST_F(CacheTags, WhoNamesNoTagsHeedsThoseOfWhatItReads) {
  other.emplace(*opened, framed());
  load_here("a");
  EXPECT_EQ(load_there("never"), "a");
  invalidate_there();
  EXPECT_EQ(load_there("b"), "b");
}

// --------------------------------------------------------------------------------- while loads run

// 1. here a load begins  2. there the tag is invalidated  3. the load ends, and is stored
TEST_F(CacheTags, WhatWasLoadedWhileItsTagEndedAnswersWhoWaitedAndNobodyElse) {
  auto& waiting = begin(*strings);
  invalidate_there();
  loader.value = "before";
  loader.let_go();
  settle();
  loader.hold();
  EXPECT_EQ(waiting.value(), "before");
  EXPECT_EQ(load_there("after"), "after");
  EXPECT_EQ(load_here("never"), "after");
}

TEST_F(CacheTags, ALoadThatRunsHereIsVoidAndTheNextCallerDoesNotWaitForIt) {
  held_loader first(io.get_executor());
  auto& waiting = calls.emplace_back();
  cache<std::string> const& same = *strings;  // its call brings the loader
  same.async_get_or_load(
      "k", [&](load_context context) { return first(std::move(context)); },
      herdlock_test::as_result(waiting.token()));
  settle();
  invalidate_here();
  EXPECT_TRUE(first.last->stop().stop_requested());
  EXPECT_EQ(load_here("after"), "after");
  first.value = "before";
  first.let_go();
  settle();
  EXPECT_EQ(waiting.value(), "before");
  EXPECT_EQ(load_there("never"), "after");
}

TEST_F(CacheTags, ALoadWithAnotherTagRunsOn) {
  begin(*strings);
  invalidate_here("another");
  EXPECT_FALSE(loader.last->stop().stop_requested());
  loader.let_go();
  settle();
  EXPECT_EQ(load_there("never"), "loaded");
}

// The load that is pushed to a waiter had begun before the tag ended.
TEST_F(CacheTags, APushedValueIsJudgedByItsTags) {
  store_traits traits;
  traits.pushes_fills = true;
  auto const options = tagged();
  other.reset();
  open(options, traits);
  other.emplace(*opened, options);
  script->watches = true;
  begin(*strings);
  auto& waiting = begin(*other);
  ASSERT_EQ(script->watchers.size(), 1u);
  invalidate_there();
  loader.value = "before";
  loader.let_go();
  settle();
  loader.hold();
  auto pushed = std::exchange(script->watchers, {});
  script->watches = false;  // there is no claim any more to wait for
  loader.value = "after";
  std::move(pushed.front())(watch_reply(cache_hit{*script->entries["k"].value}));
  settle();
  EXPECT_FALSE(waiting.got.has_value());
  loader.let_go();
  EXPECT_TRUE(run_until([&] { return waiting.got.has_value(); }));
  EXPECT_EQ(waiting.value(), "after");
}

// The store grants each claim beside an entry that tags ended: the second one looks again.
TEST_F(CacheTags, AnEntryThatATagEndedIsLoadedOnceByAllProcesses) {
  load_here("a");
  invalidate_there();
  bool held = false;
  script->script = [&](std::string const& verb, std::size_t) {
    bool const holds = verb == "claim" && script->asked == "k" && !std::exchange(held, true);
    return holds ? fault::delay : fault::none;
  };
  auto& late = begin(*strings);
  ASSERT_TRUE(held);
  EXPECT_EQ(load_there("b"), "b");
  script->release_hanging();
  settle();
  EXPECT_EQ(late.value(), "b");
  EXPECT_EQ(loader.runs, 2);
  EXPECT_TRUE(run_until([&] { return script->entries["k"].claimant.empty(); }));
}

// -------------------------------------------------------------------------------- tags.max_age

class CacheTagAge : public CacheTags {
 protected:
  CacheTagAge() {
    auto options = tagged();
    options.tags.max_age = 1h;
    open_tagged(options);
  }
};

TEST_F(CacheTagAge, WhatIsKnownOfATagCostsNoRead) {
  load_here("a");
  load_here("never");
  script->log.clear();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(load_here("never"), "a");
  EXPECT_EQ(script->log, std::vector<std::string>(5, "get"));
}

TEST_F(CacheTagAge, WhatAnotherProcessEndsIsSeenThenOrBehindAFence) {
  load_here("a");
  load_here("never");
  invalidate_there();
  EXPECT_EQ(load_here("never"), "a") << "for tags.max_age at most";
  bool passed = false;
  strings->async_fence(herdlock_test::as_result([&](result<void> const&) { passed = true; }));
  settle();
  EXPECT_TRUE(passed);
  EXPECT_EQ(load_here("b"), "b");
}

TEST_F(CacheTagAge, WhatThisProcessEndsIsSeenAtOnce) {
  load_here("a");
  load_here("never");
  invalidate_here();
  EXPECT_EQ(load_here("b"), "b");
  expire_here();
  EXPECT_EQ(begin(*strings).value(), "b");
  EXPECT_EQ(loader.runs, 3) << "it is stale";
  loader.let_go();
}

// What this process knows of the tag is older than the entry.
TEST_F(CacheTagAge, AnEntryOfALaterGenerationThanIsKnownIsAnAnswer) {
  load_here("a");
  load_here("never");
  invalidate_there();
  EXPECT_EQ(load_there("b"), "b");
  EXPECT_EQ(load_here("never"), "b");
  EXPECT_EQ(loader.runs, 2);
}

TEST_F(CacheTagAge, CallersAtOnceShareTheReadOfATag) {
  load_there("a", "k");
  load_there("b", "l");
  script->log.clear();
  for (auto const* key : {"k", "l"}) {
    strings->async_get(key, herdlock_test::as_result([](auto const&) {}));
  }
  settle();
  EXPECT_EQ(script->count("get"), 5u) << "two entries, t, and one tag of each alone";
}

}  // namespace
}  // namespace herdlock::scripted
