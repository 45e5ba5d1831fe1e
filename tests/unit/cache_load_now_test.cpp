// load_now: a load although the entry is fresh, and who shares it.
#include "cache_age_fixture.hpp"

namespace herdlock::scripted {
namespace {

class CacheLoadNow : public CacheAge {
 protected:
  call& load_now() {
    auto& c = calls.emplace_back();
    strings->async_load_now("k", loader_by_reference(), herdlock_test::as_result(c.token()));
    settle();
    return c;
  }
  void store_plain(std::string const& value = "old") {
    script->entries["k"].value = cache_value(value);
  }
  std::string plain_text() {
    auto const& value = script->entries["k"].value;
    return value ? std::get<std::string>(*value) : "(none)";
  }
  bool answered(call const& c) {
    return run_until([&] { return c.got.has_value(); });
  }
};

TEST_F(CacheLoadNow, AFreshEntryIsLoadedAnewAndReplaced) {
  store_plain();
  loader.let_go();
  auto const& c = load_now();
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(plain_text(), "loaded");
  auto const stats = strings->stats();
  EXPECT_EQ(stats.loads_now, 1u);
  EXPECT_EQ(stats.loads, 1u);
  EXPECT_EQ(stats.hits + stats.misses, 0u);
}

TEST_F(CacheLoadNow, AFreshFramedEntryIsReplaced) {
  open(framed());
  store_entry(header_of(1s));
  loader.let_go();
  auto const& c = load_now();
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(stored_text(), "loaded");
}

TEST_F(CacheLoadNow, AtAMissItLoads) {
  loader.let_go();
  auto const& c = load_now();
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(plain_text(), "loaded");
}

TEST_F(CacheLoadNow, TheLoaderSeesTheValueThatIsThereAndMayKeepIt) {
  store_plain();
  call& c = calls.emplace_back();
  auto load = [](herdlock_test::of_text& of) -> asio::awaitable<text> {
    co_return of.not_modified();
  };
  strings->async_load_now("k", load, herdlock_test::as_result(c.token()));
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "old");
  EXPECT_EQ(script->count("fill"), 1u);
}

// Nobody else waits for it.
TEST_F(CacheLoadNow, TheOthersHaveTheEntryMeanwhile) {
  store_plain();
  auto const& mine = load_now();
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(mine.value(), "(no answer)");
  loader.let_go();
  ASSERT_TRUE(answered(mine));
  EXPECT_EQ(ask().value(), "loaded");
}

TEST_F(CacheLoadNow, AtAMissTheOthersJoinIt) {
  auto const& mine = load_now();
  auto const& other = ask();
  loader.let_go();
  ASSERT_TRUE(answered(mine));
  ASSERT_TRUE(answered(other));
  EXPECT_EQ(other.value(), "loaded");
  EXPECT_EQ(loader.runs, 1);
}

// What that load has read may be older than the change for which the call was made.
TEST_F(CacheLoadNow, ALoadThatBeganBeforeIsWaitedForAndNotJoined) {
  auto const& before = ask();
  ASSERT_EQ(loader.runs, 1);
  auto const& first = load_now();
  auto const& second = load_now();
  EXPECT_EQ(loader.runs, 1) << "one at a time";
  EXPECT_EQ(strings->stats().joined, 1u) << "the second waits for the same turn";
  loader.let_go();
  ASSERT_TRUE(answered(before));
  ASSERT_TRUE(answered(first));
  ASSERT_TRUE(answered(second));
  EXPECT_EQ(first.value(), "loaded");
  EXPECT_EQ(second.value(), "loaded");
  EXPECT_EQ(loader.runs, 2);
}

TEST_F(CacheLoadNow, ACallDuringALoadNowHasTheNextOne) {
  store_plain();
  auto const& first = load_now();
  ASSERT_EQ(loader.runs, 1);
  auto const& second = load_now();
  loader.let_go();
  ASSERT_TRUE(answered(first));
  ASSERT_TRUE(answered(second));
  EXPECT_EQ(loader.runs, 2);
}

// Another process loads; what it comes to is none of ours.
TEST_F(CacheLoadNow, AnothersLoadIsWaitedForAndNotTaken) {
  open({}, {.pushes_fills = true});
  store_plain();
  script->watches = true;
  script->entries["k"].claimant = "another";
  loader.let_go();
  auto const& c = load_now();
  ASSERT_EQ(script->watchers.size(), 1u);
  EXPECT_EQ(loader.runs, 0);
  script->entries["k"] = {cache_value("another's"), "", ""};
  auto pushed = std::move(script->watchers.front());
  script->watchers.pop_front();
  detail::post_result<watch_reply>(io.get_executor(), std::move(pushed),
                                   watch_reply(cache_hit{cache_value("another's")}));
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(plain_text(), "loaded");
}

TEST_F(CacheLoadNow, AnEntryThatCameMeanwhileIsNoAnswer) {
  script->script = [this](std::string const& verb, std::size_t) {
    if (verb == "claim" && script->count("claim") == 1) store_plain("came");
    return fault::none;
  };
  loader.let_go();
  auto const& c = load_now();
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(plain_text(), "loaded");
}

// Another program has stored it without a ttl: no claim is granted beside it.
TEST_F(CacheLoadNow, AnEntryWithoutAnEndIsReplacedToo) {
  store_plain();
  script->ttl_left = limits::max_ttl;
  loader.let_go();
  auto const& c = load_now();
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(plain_text(), "loaded");
}

TEST_F(CacheLoadNow, ItsErrorIsTheAnswerAndTheEntryStays) {
  open(failing_safe());
  store_entry(header_of(1s));
  loader.error = "no database";
  loader.let_go();
  call& c = calls.emplace_back();
  strings->async_load_now("k", loader_by_reference(), herdlock_test::as_result(c.token()));
  ASSERT_TRUE(answered(c));
  EXPECT_TRUE(c.failed_with(errc::load_failed)) << c.value();
  EXPECT_EQ(stored_text(), "old");
}

TEST_F(CacheLoadNow, AnErrorThatAnswersStillAnswersIt) {
  script->entries["k"].error = "no database";
  auto const& c = load_now();
  ASSERT_TRUE(answered(c));
  EXPECT_TRUE(c.failed_with(errc::load_failed)) << c.value();
  EXPECT_EQ(loader.runs, 0);
}

TEST_F(CacheLoadNow, AValueThatIsNotStoredIsNotGivenAgain) {
  loader.let_go();
  int runs = 0;
  auto load = [&runs](load_context& of) -> asio::awaitable<text> {
    of.do_not_store();
    co_return std::to_string(++runs);
  };
  for (int i = 1; i <= 2; ++i) {
    call& c = calls.emplace_back();
    strings->async_load_now("k", load, herdlock_test::as_result(c.token()));
    ASSERT_TRUE(answered(c));
    EXPECT_EQ(c.value(), std::to_string(i));
  }
}

TEST_F(CacheLoadNow, WithoutTheStoreItLoadsAndStoresNothing) {
  store_plain();
  script->script = [](std::string const&, std::size_t) { return fault::refuse; };
  loader.let_go();
  auto const& c = load_now();
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded");
  EXPECT_EQ(plain_text(), "old");
  EXPECT_EQ(strings->stats().unguarded_loads, 1u);
}

TEST_F(CacheLoadNow, APutVoidsItAndItsOwnCallHasItsValue) {
  store_plain();
  auto const& c = load_now();
  ASSERT_EQ(loader.runs, 1);
  strings->async_put("k", "put", herdlock_test::as_result([](result<void> const&) {}));
  settle();
  loader.let_go();
  ASSERT_TRUE(answered(c));
  EXPECT_EQ(c.value(), "loaded") << "its own loader's value";
  EXPECT_EQ(plain_text(), "put") << "the claim was void";
}

TEST_F(CacheLoadNow, WithoutALoaderAnywhereItIsRefused) {
  call& c = calls.emplace_back();
  strings->async_load_now("k", herdlock_test::as_result(c.token()));
  ASSERT_TRUE(answered(c));
  EXPECT_TRUE(c.failed_with(errc::invalid_value)) << c.value();
}

}  // namespace
}  // namespace herdlock::scripted
