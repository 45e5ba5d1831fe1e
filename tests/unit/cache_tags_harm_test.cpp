// What may go wrong around tags, and whom it harms.
#include "cache_tags_fixture.hpp"

namespace herdlock::scripted {
namespace {

TEST_F(CacheTags, MoreTagsThanAnEntryCanHaveAreRefusedByName) {
  std::size_t count = limits::max_tags;
  auto options = tagged();
  options.tags.of = [&count](std::string_view) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("tag " + std::to_string(i));
    return names;
  };
  open_tagged(options);
  EXPECT_EQ(load_here("a"), "a");
  EXPECT_EQ(stored_tags()->size(), limits::max_tags);
  ++count;
  EXPECT_NE(load_here("b", "l").find("names 9 tags for l"), std::string::npos);
  EXPECT_TRUE(calls.back().failed_with(errc::load_failed));
  EXPECT_EQ(loader.runs, 1) << "nothing is loaded that could not be stored";
}

TEST_F(CacheTags, ATagThatIsNoNameIsRefusedByName) {
  std::string tag(limits::max_name_bytes - std::string_view("herdlock:tag:").size(), 'x');
  auto options = tagged();
  options.tags.of = [&tag](std::string_view) { return std::vector{tag}; };
  open_tagged(options);
  EXPECT_EQ(load_here("a"), "a");
  tag += 'x';
  EXPECT_NE(load_here("b", "l").find("the tag"), std::string::npos);
  EXPECT_TRUE(end_tag(*strings, detail::tag_ending::invalidate, tag) == errc::invalid_name);
  EXPECT_TRUE(end_tag(*strings, detail::tag_ending::expire, "") == errc::invalid_name);
}

TEST_F(CacheTags, WhatTheFunctionThrowsIsTheErrorOfThatLoadAlone) {
  auto options = tagged();
  options.tags.of = [](std::string_view key) -> std::vector<std::string> {
    if (key == "bad") throw std::runtime_error("no tags today");
    return {"t"};
  };
  open_tagged(options);
  EXPECT_NE(load_here("a", "bad").find("no tags today"), std::string::npos);
  EXPECT_EQ(load_here("b", "good"), "b");
  std::optional<result<void>> done;
  strings->async_put("bad", "x", herdlock_test::as_result([&](result<void> r) { done = r; }));
  settle();
  EXPECT_TRUE(done && done->has_error() && done->error() == errc::invalid_value);
  EXPECT_FALSE(script->entries["bad"].value.has_value());
}

TEST_F(CacheTags, PlainEntriesHaveNoTags) {
  auto options = tagged();
  options.format = cache_format::plain;
  options.freshness.grace = 0ms;
  EXPECT_THROW(cache<std::string>(*opened, options), error);
  options.tags.of = {};
  open_tagged(options);
  EXPECT_TRUE(end_tag(*strings, detail::tag_ending::invalidate) == errc::not_supported);
  EXPECT_TRUE(end_tag(*strings, detail::tag_ending::expire) == errc::not_supported);
}

TEST_F(CacheTags, TheAgeOfATagHasItsBounds) {
  auto options = tagged();
  options.tags.max_age = limits::max_ttl;
  EXPECT_NO_THROW(cache<std::string>(*opened, options));
  for (auto const age : {-1ms, limits::max_ttl + 1ms}) {
    options.tags.max_age = age;
    EXPECT_THROW(cache<std::string>(*opened, options), error);
  }
}

TEST_F(CacheTags, AnEntryWhoseTagsCannotBeReadIsAMissAndOverwritten) {
  auto header = header_of(1s);
  header.extensions = "t";
  store_entry(std::move(header));
  EXPECT_EQ(load_here("a"), "a");
  EXPECT_GE(strings->stats().undecodable, 1u);
  EXPECT_EQ(load_there("never"), "a");
}

// R22. 1. an entry is made  2. the server loses the record, and how far it had counted  3. the next
// record gets the number of the lost one
TEST_F(CacheTags, ANumberThatTheStoreGivesTwiceBringsNoEntryBack) {
  auto options = tagged();
  options.tags.of = [](std::string_view) { return std::vector<std::string>{"t"}; };
  open_tagged(options);
  auto const counted = script->fencing;
  EXPECT_EQ(load_here("old", "k"), "old");
  auto const claims = script->fencing - counted;
  script->entries.erase(record);
  script->fencing = counted;
  EXPECT_EQ(load_here("other", "l"), "other");
  EXPECT_EQ(script->fencing - counted, claims);
  EXPECT_EQ(load_here("new", "k"), "new");
}

// ---------------------------------------------------------------------------- trouble of the store

// It says nothing of the other keys.
TEST_F(CacheTags, ATagThatMayNotBeReadLeavesTheStoreInUse) {
  load_here("a");
  script->refusal = errc::access_denied;
  make_fail("get", record, fault::refuse);
  EXPECT_EQ(load_there("b"), "b") << "it is loaded, and not stored";
  EXPECT_EQ(stored_text(), "a") << "it is as good as it was, for who may read the tag";
  EXPECT_TRUE(other->last_store_error() == errc::access_denied);
  EXPECT_EQ(other->stats().ended_by_tags, 0u) << "nobody knows";
  script->script = nullptr;
  other->async_put("l", "x", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  auto const gets = script->count("get");
  EXPECT_EQ(load_there("never", "l"), "x");
  EXPECT_GT(script->count("get"), gets);
  EXPECT_EQ(other->stats().unguarded_loads, 0u);
}

TEST_F(CacheTags, AStoreThatIsGoneWhenTheTagIsReadIsThatOfTheEntry) {
  load_here("a");
  make_fail("get", record, fault::refuse);
  EXPECT_EQ(load_there("b"), "b");
  EXPECT_EQ(other->stats().unguarded_loads, 1u);
  EXPECT_EQ(other->stats().store_errors, 1u);
}

TEST_F(CacheTags, WithoutMemoryToAskForATagNobodyWaitsForEver) {
  load_there("a");
  script->script = [&](std::string const& verb, std::size_t) {
    if (verb == "get" && script->asked == record) throw std::bad_alloc();
    return fault::none;
  };
  EXPECT_EQ(load_here("b"), "b") << "it is loaded, and not stored";
  script->script = nullptr;
  EXPECT_EQ(load_there("never"), "a");
  strings->async_fence(herdlock_test::as_result([](result<void> const&) {}));
  EXPECT_TRUE(run_until([&] { return load_here("never") == "a"; }));
}

TEST_F(CacheTags, AValueThatFitsOnlyWithoutItsTagsIsNotStored) {
  std::string const large(
      limits::max_value_bytes - runtime::frame_bytes(layout::string, cache_format::framed), 'x');
  EXPECT_EQ(load_here(large).size(), large.size());
  EXPECT_EQ(script->entries["k"].value, std::nullopt);
  EXPECT_EQ(strings->stats().unstorable, 1u);
  std::optional<result<void>> done;
  strings->async_put("l", large, herdlock_test::as_result([&](result<void> r) { done = r; }));
  settle();
  EXPECT_TRUE(done && done->has_error() && done->error() == errc::invalid_value);
  EXPECT_EQ(script->entries["l"].value, std::nullopt);
}

// Neither the entry nor the record has times that anybody knows.
TEST_F(CacheTags, WithoutTheStoresClockTagsEndTheirEntriesAllTheSame) {
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "now" ? fault::refuse : fault::none;
  };
  EXPECT_EQ(load_here("a"), "a");
  EXPECT_EQ(stored()->header.created, 0us);
  EXPECT_EQ(load_there("never"), "a");
  invalidate_there();
  EXPECT_EQ(load_here("b"), "b");
  EXPECT_EQ(load_there("never"), "b");
  end_tag(*other, detail::tag_ending::expire);
  EXPECT_EQ(load_here("c"), "c") << "it has no grace";
  EXPECT_EQ(load_there("never"), "c");
}

TEST_F(CacheTags, SomethingElseUnderTheNameOfARecordIsOverwritten) {
  script->entries[record].value = cache_value(std::string("what?"));
  expect_one_load_for_all();
}

TEST_F(CacheTags, AnEndThatFailsSaysSoAndVoidsTheLoadsHere) {
  begin(*strings);
  auto const asked = loader.last->stop();
  make_fail("invalidate", record, fault::refuse);
  auto const why = end_tag(*strings, detail::tag_ending::invalidate);
  EXPECT_TRUE(why == errc::unavailable);
  EXPECT_TRUE(asked.stop_requested());
  loader.let_go();
}

// ------------------------------------------------------------------------- what is kept elsewhere

TEST_F(CacheTags, ATagEndsTheAnswersThatAreInNoStoreOfItsOwnKeysOnly) {
  script->script = [](std::string const& verb, std::size_t) {
    return verb == "get" || verb == "claim" ? fault::refuse : fault::none;
  };
  EXPECT_EQ(load_here("a", "k"), "a");
  EXPECT_EQ(load_here("b", "l"), "b");
  auto const runs = loader.runs;
  invalidate_here("of k");
  // Both were loaded without the store a moment ago.
  EXPECT_EQ(load_here("c", "k"), "c");
  EXPECT_EQ(loader.runs, runs + 1);
}

// It is still in the store.
TEST_F(CacheTags, ALastingEntryThatATagEndedKeepsItsRoomUntilItIsLoadedAnew) {
  auto options = tagged();
  options.freshness.grace = 0ms;
  options.ttl = lasting;
  options.lasting.max_entries = 1;
  open_tagged(options);
  EXPECT_EQ(load_here("a"), "a");
  invalidate_there();
  auto told = herdlock_test::as_result([](auto const&) {});
  strings->async_get("k", told);
  settle();
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
  EXPECT_EQ(load_here("b", "l"), "b");
  EXPECT_FALSE(script->entries["l"].value.has_value());
  EXPECT_EQ(load_here("c"), "c");
  EXPECT_EQ(strings->stats().lasting_entries, 1u);
}

// R18, for who waits for the load of another process.
TEST_F(CacheTags, ACopyThatATagEndedIsNoAnswerToAnError) {
  auto options = tagged();
  options.freshness.fail_safe = true;
  options.freshness.soft_timeout = wait_forever;
  open_tagged(options);
  EXPECT_EQ(load_here("old"), "old");
  strings->async_expire("k", herdlock_test::as_result([](auto const&) {}));
  settle();
  begin(*other);
  call& c = begin(*strings);
  EXPECT_EQ(loader.runs, 2);
  invalidate_here();
  loader.error = "database is down";
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
  EXPECT_NE(c.value().find("database is down"), std::string::npos) << c.value();
}

TEST_F(CacheTags, BehindAFenceNoAnswerIsKeptOfWhatHasTags) {
  make_fail("get", record, fault::refuse);
  EXPECT_EQ(load_here("a"), "a");
  EXPECT_EQ(load_here("never"), "a") << "it could not be stored, and is kept for a while";
  strings->async_fence(herdlock_test::as_result([](result<void> const&) {}));
  settle();
  EXPECT_EQ(load_here("b"), "b");
}

TEST_F(CacheTags, NoKeyIsOneOfTheRecords) {
  auto& c = begin(*strings, "herdlock:tag:t");
  EXPECT_TRUE(c.failed_with(errc::invalid_name));
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheTags, TheCacheGoesWhileARecordIsOnItsWay) {
  make_fail("fill", record, fault::hang);
  auto& c = begin(*strings);
  strings.reset();
  settle();
  EXPECT_TRUE(c.failed_with(errc::canceled));
  script->release_hanging();
  settle();
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheTags, AClosingStoreIsToldThatTheClaimOfARecordIsGivenUp) {
  make_fail("claim", record, fault::hang);
  begin(*strings);
  strings.reset();
  other.reset();
  opened.reset();
  settle();
  EXPECT_EQ(script->count("fail"), 2u) << "the claim of the key, and that of the record";
  script->release_hanging();
  settle();
}

}  // namespace
}  // namespace herdlock::scripted
