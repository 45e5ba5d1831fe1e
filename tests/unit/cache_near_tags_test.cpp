// Entries with tags that the process keeps: a hit asks nobody, and no end of a tag is missed. R1 to
// R22 are the rules of docs/known-bugs.md.
#include "cache_tags_fixture.hpp"

namespace herdlock::scripted {
namespace {

/// This process keeps what it reads; the other one keeps nothing.
class CacheNearTags : public CacheTags {
 protected:
  CacheNearTags() {
    tracks = true;
    open_near(near_cache::all);
  }

  void open_near(near_cache how, milliseconds tag_max_age = 0ms) {
    auto options = tagged();
    options.tags.max_age = tag_max_age;
    options.hot.keys = std::nullopt;
    options.near.mode = how;
    options.near.untracked_age = 1h;
    other.reset();
    open(options);
    options.near.mode = near_cache::off;
    options.near.untracked_age = 0ms;
    other.emplace(*opened, options);
    settle();
  }
  /// Until an answer comes from what is kept.
  void keep(std::string_view key = "k") {
    ASSERT_TRUE(run_until([&] {
      auto const before = strings->stats().near_hits;
      load_here("loaded", key);
      return strings->stats().near_hits > before;
    }));
    script->log.clear();
  }
  bool answers_by_itself(std::string_view key = "k") {
    auto const before = strings->stats().near_hits;
    load_here("loaded anew", key);
    return strings->stats().near_hits > before;
  }
  void fence() {
    bool passed = false;
    strings->async_fence(herdlock_test::as_result([&](result<void> const&) { passed = true; }));
    ASSERT_TRUE(run_until([&] { return passed; }));
  }
  void delay_reads_of(std::string const& asked) {
    script->script = [this, asked](std::string const& verb, std::size_t) {
      return verb == "get" && script->asked == asked ? fault::delay : fault::none;
    };
  }
  void release_reads() {
    script->script = nullptr;
    script->release_hanging();
    settle();
  }
};

TEST_F(CacheNearTags, AKeptEntryAsksNeitherForItselfNorForItsTags) {
  keep();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(load_here("never"), "loaded");
  EXPECT_TRUE(script->log.empty());
}

TEST_F(CacheNearTags, APushOfATagEndsAllKeptEntriesThatHaveItAndNoOthers) {
  keep("k");
  keep("l");
  invalidate_there("of k");
  tracking->push("herdlock:tag:of k");
  EXPECT_EQ(load_here("a", "k"), "a");
  EXPECT_TRUE(answers_by_itself("l"));
  keep("k");
  invalidate_there();
  tracking->push(record);
  EXPECT_EQ(load_here("b", "k"), "b");
  EXPECT_EQ(load_here("c", "l"), "c");
}

// R9. The push comes before the PONG of the fence.
TEST_F(CacheNearTags, BehindAFenceNothingIsServedWhoseTagHadEnded) {
  keep();
  invalidate_there();
  EXPECT_EQ(load_here("never"), "loaded") << "no push has come, else this shows nothing";
  tracking->push(record);
  fence();
  EXPECT_EQ(load_here("b"), "b");
}

TEST_F(CacheNearTags, AfterExpireTagAKeptEntryIsStale) {
  keep();
  end_tag(*other, detail::tag_ending::expire);
  tracking->push(record);
  EXPECT_EQ(begin(*strings).value(), "loaded") << "the stale value";
  EXPECT_EQ(strings->stats().stale_hits, 1u);
  EXPECT_EQ(loader.runs, 2);
  loader.let_go();
}

// R8
TEST_F(CacheNearTags, WhatThisProcessEndsIsNotServedFromTheCallOn) {
  keep();
  make_fail("invalidate", record, fault::hang);
  strings->async_invalidate_tag("t", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  EXPECT_FALSE(answers_by_itself());
  release_reads();
}

// R8: the store may have read the record before it carried the end out.
TEST_F(CacheNearTags, WhatIsReadWhileThisProcessEndsATagIsNotKept) {
  load_here("a");
  make_fail("invalidate", record, fault::delay);
  strings->async_invalidate_tag("t", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  EXPECT_FALSE(answers_by_itself());
  EXPECT_FALSE(answers_by_itself());
  release_reads();
  EXPECT_FALSE(answers_by_itself());
}

// R1, for the entry: 1. it is read  2. its tag is on its way  3. the entry changes
TEST_F(CacheNearTags, AnEntryThatChangesWhileItsTagIsReadIsNotKept) {
  load_there("old");
  delay_reads_of(record);
  begin(*strings);
  tracking->push("k");
  release_reads();
  EXPECT_EQ(strings->stats().near_refused, 1u);
  EXPECT_FALSE(answers_by_itself());
  EXPECT_TRUE(answers_by_itself());
}

// R1, for the tag: 1. the entry is here  2. its tag is on its way, of before  3. the tag ends
TEST_F(CacheNearTags, AnEntryWhoseTagChangesWhileItIsReadIsNotKept) {
  load_there("old");
  delay_reads_of(record);
  auto& c = begin(*strings);
  script->script = nullptr;
  auto const reads = std::exchange(script->hanging, {});
  for (auto const& one : reads) one();  // it is answered, and the answer not handled yet
  tracking->push(record);
  settle();
  EXPECT_EQ(c.value(), "old") << "it was an answer when it was asked for";
  script->entries.erase(record);
  EXPECT_EQ(load_here("new"), "new");
}

// The entry is here before anything is known of its tag.
TEST_F(CacheNearTags, AnEntryWhoseTagHadEndedBeforeItWasReadIsNotKept) {
  load_there("old");
  invalidate_there();
  EXPECT_EQ(load_here("new"), "new");
  EXPECT_FALSE(answers_by_itself());
  EXPECT_TRUE(answers_by_itself());
}

// What is kept of the tag is older than the entry, whose push is still on its way.
TEST_F(CacheNearTags, AnEntryOfALaterGenerationThanIsKeptIsAnAnswer) {
  keep("k");
  invalidate_there();
  EXPECT_EQ(load_there("new", "l"), "new");
  EXPECT_EQ(load_here("never", "l"), "new");
}

// It has lain in the store since before the tag ended.
TEST_F(CacheNearTags, AnEntryOfAnEarlierGenerationThanIsKeptHasEnded) {
  load_there("old", "k");
  invalidate_there();
  load_there("new", "l");
  keep("l");
  EXPECT_EQ(load_here("newer", "k"), "newer");
  EXPECT_TRUE(answers_by_itself("l")) << "what rests on the record of now does not end by that";
}

// Its loader fails, so that it stays as it is.
TEST_F(CacheNearTags, AnEntryOfAnEarlierGenerationThatCannotBeLoadedEndsNoOthers) {
  load_there("old", "k");
  invalidate_there();
  load_there("new", "l");
  keep("l");
  loader.error = "database is down";
  for (int i = 0; i < 3; ++i) {
    load_here("", "k");
    EXPECT_TRUE(answers_by_itself("l")) << i;
  }
}

// R2
TEST_F(CacheNearTags, AFlushEndsKeptEntriesAndTheRecordsOfTheirTags) {
  keep();
  script->entries.erase(record);  // the entry alone would be an answer
  tracking->push_all();
  EXPECT_EQ(load_here("b"), "b");
}

// R2, R4
TEST_F(CacheNearTags, AConnectionThatIsLostTakesTheRecordsWithIt) {
  keep("k");
  keep("l");
  tracking->cut();
  invalidate_there();
  EXPECT_EQ(load_here("b", "k"), "b");
  EXPECT_EQ(load_here("c", "l"), "c");
}

// It may be older: of a server that pushes nothing it is kept for near.untracked_age.
TEST_F(CacheNearTags, WhatIsKeptOfATagSaysNothingOfEntriesThatAreNotKept) {
  for (bool const pushes : {true, false}) {
    tracking->refuses = !pushes;
    open_near(near_cache::hot);
    strings->pin("k");
    settle();
    keep("k");
    load_here("a", "l");
    EXPECT_EQ(load_here("never", "l"), "a");
    invalidate_there();
    EXPECT_TRUE(answers_by_itself("k")) << "no push has come, else this shows nothing";
    EXPECT_EQ(load_here("b", "l"), "b");
    script->entries.clear();
  }
}

TEST_F(CacheNearTags, OnlyTagsOfKeptEntriesAreTracked) {
  open_near(near_cache::hot);
  strings->pin("k");
  settle();
  load_here("a", "l");
  load_here("never", "l");
  EXPECT_EQ(tracking->reads, 0u);
  load_there("a", "k");
  keep("k");
  EXPECT_EQ(tracking->reads, 3u) << "the entry and its tags";
}

// What is known already would do for an answer.
TEST_F(CacheNearTags, ATagThatIsKnownIsReadOnceMoreForWhatIsKept) {
  open_near(near_cache::all, 1h);
  keep();
  invalidate_there();
  tracking->push(record);
  EXPECT_FALSE(answers_by_itself()) << "it is no answer for tags.max_age, for it may be kept";
}

TEST_F(CacheNearTags, WhoNamesNoTagsKeepsWhatHasThemToo) {
  auto options = tagged();
  options.tags.of = nullptr;
  options.near.mode = near_cache::all;
  load_there("a");
  strings.emplace(*opened, options);
  settle();
  keep();
  invalidate_there();
  tracking->push(record);
  EXPECT_EQ(load_here("b"), "b");
}

TEST_F(CacheNearTags, WhereATagMayNotBeReadNothingIsKept) {
  load_there("a");
  script->refusal = errc::access_denied;
  make_fail("get", record, fault::refuse);
  EXPECT_FALSE(answers_by_itself());
  EXPECT_EQ(strings->stats().near_inserts, 1u) << "the tag that is its own";
}

}  // namespace
}  // namespace herdlock::scripted
