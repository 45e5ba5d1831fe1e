// clear(): all entries of a cache end by the record of one tag that each of them has.
#include "cache_tags_fixture.hpp"

namespace herdlock::scripted {
namespace {

using herdlock_test::of_text;

class CacheClear : public CacheTags {
 protected:
  static constexpr auto record_of_all = "herdlock:tag:";

  CacheClear() { open_tagged(clearable()); }

  static cache_options clearable() {
    auto options = framed();
    options.tags.max_age = 0ms;
    options.tags.clearable = true;
    return options;
  }
  failure clear(cache<std::string> const& from) {
    std::optional<result<void>> done;
    from.async_clear(herdlock_test::as_result([&](result<void> r) { done = std::move(r); }));
    settle();
    if (!done) return make_failure(errc::timed_out, "it has not ended");
    return done->has_error() ? done->error() : failure{};
  }
  void clear_here() { EXPECT_FALSE(clear(*strings).code); }
  void clear_there() { EXPECT_FALSE(clear(*other).code); }
};

TEST_F(CacheClear, AllEntriesEndInAllProcessesByOneCommand) {
  EXPECT_EQ(load_here("old", "k"), "old");
  EXPECT_EQ(load_here("old", "l"), "old");
  EXPECT_EQ(load_there("never", "k"), "old");
  script->log.clear();
  clear_there();
  EXPECT_EQ(script->log, std::vector<std::string>{"invalidate"});
  EXPECT_EQ(script->asked, record_of_all);
  EXPECT_EQ(load_here("new", "k"), "new");
  EXPECT_EQ(load_there("newer", "l"), "newer") << "stale copies have ended, too";
  EXPECT_EQ(load_there("never", "k"), "new");
}

TEST_F(CacheClear, AnEntryHasTheTagOfAllBesideItsOwn) {
  EXPECT_EQ(load_here("a"), "a");
  auto const alone = stored_tags();
  ASSERT_TRUE(alone);
  ASSERT_EQ(alone->size(), 1u);
  EXPECT_EQ(alone->front().name, algo::tag_of_all);
  auto options = clearable();
  std::size_t count = limits::max_tags;
  options.tags.of = [&count](std::string_view) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("tag " + std::to_string(i));
    return names;
  };
  open_tagged(options);
  EXPECT_EQ(load_here("b"), "b");
  EXPECT_EQ(stored_tags()->size(), limits::max_tags + 1) << "it takes the room of none";
  EXPECT_EQ(load_there("never"), "b");
  invalidate_here("tag 3");
  EXPECT_EQ(load_there("c"), "c");
  clear_here();
  EXPECT_EQ(load_there("d"), "d");
}

TEST_F(CacheClear, ALoadThatRunsHereIsVoidAndTheNextCallerDoesNotWaitForIt) {
  held_loader first(io.get_executor());
  auto& waiting = calls.emplace_back();
  cache<std::string> const& same = *strings;  // its call brings the loader
  same.async_get_or_load(
      "k", [&](load_context context) { return first(std::move(context)); },
      herdlock_test::as_result(waiting.token()));
  settle();
  clear_here();
  EXPECT_TRUE(first.last->stop().stop_requested());
  EXPECT_EQ(load_here("after"), "after");
  first.value = "before";
  first.let_go();
  settle();
  EXPECT_EQ(waiting.value(), "before");
  EXPECT_EQ(load_there("never"), "after");
}

TEST_F(CacheClear, ALoadOfAnotherProcessThatRunsMeanwhileIsStoredAsEnded) {
  call& loading = begin(*other);
  clear_here();
  loader.let_go();
  settle();
  loader.hold();
  EXPECT_EQ(loading.value(), "loaded");
  EXPECT_EQ(load_here("new"), "new");
}

TEST_F(CacheClear, APutOrNegativeEntryIsCleared) {
  put("put");
  EXPECT_EQ(load_there("never"), "put");
  clear_there();
  EXPECT_EQ(load_here("loaded"), "loaded");
  loader.value = std::nullopt;
  loader.let_go();
  EXPECT_EQ(begin(*strings, "none").value(), "(nothing)");
  loader.value = "there is one";
  clear_here();
  EXPECT_EQ(begin(*strings, "none").value(), "there is one");
}

TEST_F(CacheClear, WhatIsStoredWithoutTheTagIsAMiss) {
  open_tagged(tagged());
  EXPECT_EQ(load_here("with other tags"), "with other tags");
  auto const before = script->entries;
  open_tagged(clearable());
  script->entries = before;
  EXPECT_EQ(load_here("new"), "new");
  EXPECT_GE(strings->stats().ended_by_tags, 1u);
  EXPECT_EQ(load_there("never"), "new");
}

TEST_F(CacheClear, WhoCannotClearStillSeesThatAnotherHas) {
  EXPECT_EQ(load_here("old"), "old");
  cache_options options = framed();
  options.tags.max_age = 0ms;
  other.emplace(*opened, options);
  EXPECT_EQ(load_there("never"), "old");
  clear_here();
  EXPECT_EQ(load_there("new"), "new");
}

TEST_F(CacheClear, AValueThatIsNotModifiedIsClearedAlsoWhereAnotherKeepsIt) {
  EXPECT_EQ(load_here("old"), "old");
  cache_options options = framed();
  options.tags.max_age = 0ms;
  other.emplace(*opened, options);
  ASSERT_TRUE(expire());
  auto keep = [](of_text& of) -> asio::awaitable<text> { co_return of.not_modified(); };
  auto& c = calls.emplace_back();
  other->async_get_or_load("k", keep, herdlock_test::as_result(c.token()));
  settle();
  EXPECT_EQ(c.value(), "old");
  ASSERT_EQ(stored_tags()->size(), 1u);
  EXPECT_EQ(load_here("never"), "old");
  clear_here();
  EXPECT_EQ(load_here("new"), "new");
}

TEST_F(CacheClear, TheTagsThatALoaderNamesStandBesideIt) {
  auto options = clearable();
  options.error_back_off = 0ms;
  open_tagged(options);
  auto add = [](of_text& of) -> asio::awaitable<text> {
    for (std::size_t i = 0; i < limits::max_tags; ++i) of.add_tag("tag " + std::to_string(i));
    co_return "loaded";
  };
  for (int i = 0; i < 2; ++i) {  // the first value is not stored
    auto& c = calls.emplace_back();
    strings->async_get_or_load("k", add, herdlock_test::as_result(c.token()));
    ASSERT_TRUE(run_until([&] { return c.answers > 0; }));
    settle();
    EXPECT_EQ(c.value(), "loaded");
  }
  ASSERT_TRUE(stored_tags());
  EXPECT_EQ(stored_tags()->size(), limits::max_tags + 1);
  clear_there();
  EXPECT_EQ(load_here("new"), "new");
}

TEST_F(CacheClear, AnEntryIsReadWithOneRecordInEachMaxAge) {
  auto options = clearable();
  options.tags.max_age = 1h;
  open_tagged(options);
  EXPECT_EQ(load_here("a", "k"), "a");
  EXPECT_EQ(load_here("a", "l"), "a");
  script->log.clear();
  EXPECT_EQ(load_here("never", "k"), "a");
  EXPECT_EQ(load_here("never", "l"), "a");
  EXPECT_EQ(script->log, (std::vector<std::string>{"get", "get"}));
}

TEST_F(CacheClear, KeptEntriesEndByOnePush) {
  tracks = true;
  auto options = clearable();
  options.near.mode = near_cache::all;
  options.near.untracked_age = 1h;
  other.reset();
  open(options);
  other.emplace(*opened, clearable());
  settle();
  auto const answers_by_itself = [&](std::string_view key) {
    auto const before = strings->stats().near_hits;
    load_here("loaded anew", key);
    return strings->stats().near_hits > before;
  };
  ASSERT_TRUE(run_until([&] { return answers_by_itself("k"); }));
  ASSERT_TRUE(run_until([&] { return answers_by_itself("l"); }));
  clear_there();
  tracking->push(record_of_all);
  EXPECT_FALSE(answers_by_itself("k"));
  EXPECT_FALSE(answers_by_itself("l"));
}

TEST_F(CacheClear, ACacheWhoseEntriesLackTheTagSaysHowToGetIt) {
  open_tagged(tagged());
  auto const framed_one = clear(*strings);
  EXPECT_TRUE(framed_one == errc::not_supported);
  EXPECT_NE(framed_one.message.find("tags.clearable"), std::string::npos);
  EXPECT_EQ(framed_one.message.find("cache_format::framed"), std::string::npos);
  open_tagged({.ttl = ttl});
  auto const plain = clear(*strings);
  EXPECT_TRUE(plain == errc::not_supported);
  EXPECT_NE(plain.message.find("tags.clearable"), std::string::npos);
  EXPECT_NE(plain.message.find("cache_format::framed"), std::string::npos);
  EXPECT_THROW(cache<std::string>(*opened, {.tags = {.clearable = true}}), error);
}

TEST_F(CacheClear, ATagOfTheUsersIsNeverThatOfAll) {
  EXPECT_TRUE(end_tag(*strings, detail::tag_ending::invalidate, "") == errc::invalid_name);
  auto options = clearable();
  options.tags.of = [](std::string_view) { return std::vector<std::string>{""}; };
  open_tagged(options);
  EXPECT_NE(load_here("a").find("the tag"), std::string::npos);
}

TEST_F(CacheClear, APrefixThatLeavesNoRoomForTheRecordIsRefused) {
  auto options = clearable();
  options.prefix.assign(limits::max_name_bytes - 5, 'p');
  EXPECT_THROW(cache<std::string>(*opened, options), error);
}

}  // namespace
}  // namespace herdlock::scripted
