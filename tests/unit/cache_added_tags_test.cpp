// Tags that a loader names, which are known by its value alone.
#include "cache_tags_fixture.hpp"

namespace herdlock::scripted {
namespace {

using herdlock_test::of_text;

class CacheAddedTags : public CacheTags {
 protected:
  CacheAddedTags() { open_tagged(untagged()); }

  static cache_options untagged() {
    auto options = framed();
    options.tags.max_age = 0ms;
    options.error_back_off = 0ms;
    return options;
  }
  call& load_with(std::vector<std::string> tags, std::string const& value = "new") {
    return run([tags = std::move(tags), value](of_text& of) -> text {
      for (auto const& one : tags) of.add_tag(one);
      return value;
    });
  }
  call& run(std::function<text(of_text&)> decide) {
    auto& c = calls.emplace_back();
    auto load = [this, decide = std::move(decide)](of_text& of) -> asio::awaitable<text> {
      ++runs;
      co_return decide(of);
    };
    strings->async_get_or_load("k", load, herdlock_test::as_result(c.token()));
    settle();
    return c;
  }
  std::vector<std::string> names_in_store() const {
    std::vector<std::string> found;
    for (auto const& one : stored_tags().value_or(std::vector<algo::entry_tag>())) {
      found.push_back(one.name);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  using names = std::vector<std::string>;

  int runs = 0;
};

// R22: nobody knows whether the tag ended between the loader's look and its word.
TEST_F(CacheAddedTags, TheFirstValueWithATagThatIsNewHereAnswersAndTheNextIsStored) {
  EXPECT_EQ(load_with({"t"}).value(), "new");
  EXPECT_FALSE(stored());
  EXPECT_TRUE(script->entries[record].value) << "its record is made";
  EXPECT_EQ(load_with({"t"}).value(), "new");
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored_tags()->at(0).made_in, record_in_store());
  EXPECT_EQ(load_with({"t"}).value(), "new");
  EXPECT_EQ(runs, 2);
}

TEST_F(CacheAddedTags, ItsEndIsTheEndOfTheEntry) {
  load_with({"t"});
  load_with({"t"});
  ASSERT_TRUE(stored());
  invalidate_there();
  EXPECT_EQ(load_with({"t"}, "newest").value(), "newest");
  EXPECT_EQ(runs, 3);
}

TEST_F(CacheAddedTags, WhatIsGivenAgainForAWhileEndsWithATag) {
  auto options = untagged();
  options.error_back_off = 1h;
  open_tagged(options);
  EXPECT_EQ(load_with({"t"}).value(), "new");
  EXPECT_EQ(load_with({"t"}, "never").value(), "new");
  invalidate_here();
  EXPECT_EQ(load_with({"t"}, "newest").value(), "newest");
}

// The call joins the load, of which it is not known yet that it has the tag.
TEST_F(CacheAddedTags, ACallBehindTheEndOfItsTagHasNothingOfTheLoadThatNamesIt) {
  load_with({"t"});
  int named = 0;
  auto load = [this, &named](of_text& of) -> asio::awaitable<text> {
    auto waiting = loader(of);
    co_await std::move(waiting);
    of.add_tag("t");
    co_return ++named == 1 ? "old" : "new";
  };
  auto& before = calls.emplace_back();
  strings->async_get_or_load("k", load, herdlock_test::as_result(before.token()));
  settle();
  invalidate_here();
  auto& behind = calls.emplace_back();
  strings->async_get_or_load("k", load, herdlock_test::as_result(behind.token()));
  settle();
  loader.let_go();
  ASSERT_TRUE(run_until([&] { return behind.got.has_value(); }));
  EXPECT_EQ(behind.value(), "new");
}

TEST_F(CacheAddedTags, ATagThatEndsElsewhereDuringTheLoadIsNotMissed) {
  load_with({"t"});
  auto& c = calls.emplace_back();
  auto load = [this](of_text& of) -> asio::awaitable<text> {
    auto waiting = loader(of);
    co_await std::move(waiting);
    of.add_tag("t");
    co_return "old";
  };
  strings->async_get_or_load("k", load, herdlock_test::as_result(c.token()));
  settle();
  invalidate_there();
  loader.let_go();
  settle();
  EXPECT_EQ(c.value(), "old") << "its own loader's value";
  EXPECT_EQ(load_with({"t"}, "new").value(), "new");
}

TEST_F(CacheAddedTags, TheyComeBesideThoseOfTheKey) {
  auto options = tagged();
  options.error_back_off = 0ms;
  open_tagged(options);
  load_with({"extra", "t"});
  load_with({"extra", "t"});
  EXPECT_EQ(names_in_store(), (names{"extra", "of k", "t"}));
}

TEST_F(CacheAddedTags, AValueThatIsNotModifiedKeepsItsTags) {
  load_with({"t"});
  load_with({"t"});
  ASSERT_TRUE(expire());
  EXPECT_EQ(run([](of_text& of) -> text { return of.not_modified(); }).value(), "new");
  ASSERT_TRUE(stored());
  EXPECT_EQ(stored()->header.state, algo::header_state::filled);
  EXPECT_EQ(names_in_store(), names{"t"});
}

TEST_F(CacheAddedTags, AnotherValueHasTheTagsThatItsLoaderNames) {
  load_with({"t", "u"});
  load_with({"t", "u"});
  ASSERT_TRUE(expire());
  load_with({"u"}, "newer");
  EXPECT_EQ(stored_text(), "newer");
  EXPECT_EQ(names_in_store(), names{"u"});
}

// What load_now came to is newer than the entry, which would answer the others else.
TEST_F(CacheAddedTags, LoadNowWithATagThatIsNewHereRemovesTheEntry) {
  store_entry(header_of(1s));
  auto& c = calls.emplace_back();
  auto load = [](of_text& of) -> asio::awaitable<text> {
    of.add_tag("t");
    co_return "new";
  };
  strings->async_load_now("k", load, herdlock_test::as_result(c.token()));
  ASSERT_TRUE(run_until([&] { return c.got.has_value(); }));
  settle();
  EXPECT_EQ(c.value(), "new");
  EXPECT_FALSE(stored());
}

TEST_F(CacheAddedTags, WhatCanBeNoTagIsAnErrorOfTheLoad) {
  names many;
  for (std::size_t i = 0; i <= limits::max_tags; ++i) many.push_back("t" + std::to_string(i));
  for (auto const& wrong : {many, names{""}, names{"a:herdlock:b"}}) {
    auto const& c = load_with(wrong);
    EXPECT_TRUE(c.failed_with(errc::load_failed)) << c.value();
  }
  EXPECT_EQ(script->count("fill"), 0u);
}

TEST_F(CacheAddedTags, APlainEntryHasNone) {
  open_tagged({});
  auto const& c = load_with({"t"});
  EXPECT_TRUE(c.failed_with(errc::load_failed));
  EXPECT_NE(c.value().find("cache_format::framed"), std::string::npos) << c.value();
}

}  // namespace
}  // namespace herdlock::scripted
