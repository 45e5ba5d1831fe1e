// A cache that may not ask the store for its time: entries of others that have a grace.
#include <algorithm>

#include "cache_age_fixture.hpp"

namespace herdlock::scripted {
namespace {

class CacheClock : public CacheAge {
 protected:
  void SetUp() override { open_without_clock(framed()); }
  void open_without_clock(cache_options const& options) {
    open(options);
    script->refusal = errc::access_denied;
    script->script = [](std::string const& verb, std::size_t) {
      return verb == "now" ? fault::refuse : fault::none;
    };
    loader.let_go();
  }
  std::string look() {
    std::string got = "(no answer)";
    strings->async_get("k", herdlock_test::as_result([&](result<cached<std::string>> const& r) {
                         got = r.has_error() ? "error" : r->is_miss() ? "(nothing)" : **r;
                       }));
    settle();
    return got;
  }
};

TEST_F(CacheClock, AStaleEntryIsLoadedAnewAndIsNoAnswer) {
  store_stale();
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(loader.runs, 1);
  EXPECT_EQ(strings->stats().hits + strings->stats().stale_hits, 0u);
  EXPECT_EQ(stored_text(), "loaded");
  EXPECT_EQ(ask().value(), "loaded");
  EXPECT_EQ(loader.runs, 1) << "what it has stored itself has no grace";
}

TEST_F(CacheClock, AStaleEntryIsNoAnswerWhenItsLoadFailsEither) {
  auto options = failing_safe();
  options.freshness.soft_timeout = milliseconds{0};
  open_without_clock(options);
  loader.error = "broken";
  store_stale();
  EXPECT_TRUE(ask().failed_with(errc::load_failed));
}

// The claim compares what is left with the grace: the store's clock has judged.
TEST_F(CacheClock, AnEntryThatTheStoreCallsFreshIsAnAnswerOfTheClaim) {
  store_entry(header_of(milliseconds{1}));
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(loader.runs, 0);
  EXPECT_EQ(script->count("claim"), 1u);
}

TEST_F(CacheClock, AnEntryThatWasMadeStaleIsLoadedAnewHoweverLongItIsKept) {
  auto header = header_of(milliseconds{1});
  header.state = algo::header_state::expired;
  store_entry(header);
  script->ttl_left = 2 * (ttl + grace);
  EXPECT_EQ(ask().value(), "loaded");
}

TEST_F(CacheClock, APlainLookDoesNotTakeWhatCannotBeJudged) {
  store_entry(header_of(milliseconds{1}));
  EXPECT_EQ(look(), "(nothing)");
}

TEST_F(CacheClock, AnEntryWithoutAGraceIsFreshUntilTheStoreDropsIt) {
  auto header = header_of(milliseconds{1});
  header.grace = milliseconds{0};
  store_entry(header);
  EXPECT_EQ(ask().value(), "old");
  EXPECT_EQ(script->count("claim"), 0u);
}

TEST_F(CacheClock, AWarningSaysSoOnce) {
  store_stale();
  ask();
  ask();
  auto const all = opened->warnings();
  auto const says = [](std::string const& one) { return one.find("permit TIME") != one.npos; };
  EXPECT_EQ(std::count_if(all.begin(), all.end(), says), 1);
}

TEST_F(CacheClock, AStoreThatIsAwayForAMomentIsNotWarnedOf) {
  script->refusal = errc::unavailable;
  store_stale();
  ask();
  EXPECT_TRUE(opened->warnings().empty());
}

}  // namespace
}  // namespace herdlock::scripted
