// Who makes the record of a tag, and what becomes of those who wait for it.
#include "cache_tags_fixture.hpp"

namespace herdlock::scripted {
namespace {

TEST_F(CacheTags, AClaimOfATagIsGivenBackWhenItsRecordCannotBeStored) {
  make_fail("fill", record, fault::lose_reply);
  EXPECT_EQ(load_here("a"), "a");
  EXPECT_EQ(stored_text(), "(none)");
  EXPECT_TRUE(run_until([&] { return script->entries[record].claimant.empty(); }));
  script->script = nullptr;
  EXPECT_EQ(load_there("b"), "b");
  EXPECT_EQ(load_there("never"), "b");
}

TEST_F(CacheTags, ARecordThatWasChangedWhileItWasMadeIsMadeOnceMore) {
  bool changed = false;
  script->script = [&](std::string const& verb, std::size_t) {
    if (verb == "fill" && script->asked == record && !std::exchange(changed, true)) {
      script->entries.erase(record);
    }
    return fault::none;
  };
  expect_one_load_for_all();
}

TEST_F(CacheTags, WhoFindsARecordClaimedByAnotherWaitsForIt) {
  bool held = false;
  script->script = [&](std::string const& verb, std::size_t) {
    bool const holds = verb == "fill" && script->asked == record && !std::exchange(held, true);
    return holds ? fault::delay : fault::none;
  };
  begin(*strings, "k");
  auto& waiting = begin(*other, "l");
  EXPECT_EQ(loader.runs, 0);
  script->release_hanging();
  EXPECT_TRUE(run_until([&] { return loader.runs == 2; }));
  loader.let_go();
  settle();
  EXPECT_EQ(waiting.value(), "loaded");
  EXPECT_EQ(load_here("never", "l"), "loaded");
  EXPECT_EQ(load_there("never", "k"), "loaded");
}

// It made a claim, and died.
TEST_F(CacheTags, TheClaimOfARecordIsShortSoThatNobodyWaitsLongForWhoDiedWithIt) {
  auto options = tagged();
  options.claim_ttl = 1h;
  open_tagged(options);
  script->entries[record].claimant = "dead";
  std::optional<result<void>> done;
  strings->async_put("k", "put", herdlock_test::as_result([&](result<void> r) { done = r; }));
  ASSERT_TRUE(run_until([&] { return claims_of_record() >= 3; }));
  EXPECT_FALSE(done.has_value());
  EXPECT_EQ(script->claim_ttls[record], 1s);
  script->entries[record].claimant.clear();
  ASSERT_TRUE(run_until([&] { return done.has_value(); }));
  EXPECT_TRUE(done->has_value());
  EXPECT_EQ(load_there("never"), "put");
}

TEST_F(CacheTags, NobodyWaitsForARecordWithoutAnEnd) {
  auto options = tagged();
  options.claim_ttl = 50ms;
  open_tagged(options);
  script->entries[record].claimant = "another, all the time";
  std::optional<result<void>> done;
  strings->async_put("k", "put", herdlock_test::as_result([&](result<void> r) { done = r; }));
  auto& loads = begin(*strings, "l");
  ASSERT_TRUE(run_until([&] { return done && loader.runs == 1; }));
  EXPECT_TRUE(done->has_error() && done->error() == errc::overloaded);
  loader.let_go();
  settle();
  EXPECT_EQ(loads.value(), "loaded");
  EXPECT_EQ(script->claim_ttls[record], 50ms);
  EXPECT_FALSE(script->entries["k"].value || script->entries["l"].value) << "nothing is stored";
}

// Each of them would make generations of its own, and go by them.
TEST_F(CacheTags, ProcessesThatWaitForAClaimGoByOneRecordBehindIt) {
  script->entries[record].claimant = "dead";
  begin(*strings, "k");
  begin(*other, "l");
  ASSERT_TRUE(run_until([&] { return claims_of_record() >= 40 || loader.runs == 2; }));
  script->entries[record].claimant.clear();
  ASSERT_TRUE(run_until([&] { return loader.runs == 2; }));
  loader.let_go();
  settle();
  EXPECT_EQ(load_here("never", "l"), "loaded");
  EXPECT_EQ(load_there("never", "k"), "loaded");
  EXPECT_EQ(script->count("put"), 0u);
}

// Another writes it anew, who is slow or has died: its entries are as good as they were.
TEST_F(CacheTags, ARecordThatEndsTooSoonAndIsClaimedByAnotherServesAsItIs) {
  EXPECT_EQ(load_here("a", "k"), "a");
  auto const before = record_in_store();
  shorten_record();
  script->entries[record].claimant = "dead";
  loader.value = "b";
  begin(*other, "l");
  ASSERT_TRUE(run_until([&] { return loader.runs == 2; }));
  loader.let_go();
  settle();
  EXPECT_EQ(record_in_store(), before);
  EXPECT_EQ(load_here("never", "k"), "a");
  EXPECT_EQ(load_here("never", "l"), "b");
}

// The stale values would be gone with a new first generation.
TEST_F(CacheTags, ExpireTagStaysOneWhoeverDiesWithTheClaimBehindIt) {
  EXPECT_EQ(load_here("old", "k"), "old");
  auto const before = record_in_store();
  expire_here();
  script->entries[record].claimant = "dead";
  begin(*other, "l");
  ASSERT_TRUE(run_until([&] { return claims_of_record() >= 20 || loader.runs == 2; }));
  EXPECT_EQ(record_in_store().lives, before.lives);
  script->entries[record].claimant.clear();
  ASSERT_TRUE(run_until([&] { return loader.runs == 2; }));
  loader.let_go();
  settle();
  EXPECT_EQ(record_in_store().lives, before.lives);
  EXPECT_NE(record_in_store().is_fresh, before.is_fresh);
  EXPECT_EQ(begin(*other, "k").value(), "old") << "the stale value";
  loader.let_go();
}

// Its claim has ended, and another has made the record.
TEST_F(CacheTags, WhoIsSlowToMakeARecordTakesTheOneThatIsThereByThen) {
  bool held = false;
  script->script = [&](std::string const& verb, std::size_t) {
    bool const holds = verb == "fill" && script->asked == record && !std::exchange(held, true);
    return holds ? fault::delay : fault::none;
  };
  auto& slow = begin(*strings, "k");
  script->entries[record].claimant.clear();
  begin(*other, "l");
  ASSERT_TRUE(run_until([&] { return loader.runs == 1; }));
  script->release_hanging();
  ASSERT_TRUE(run_until([&] { return loader.runs == 2; }));
  loader.let_go();
  settle();
  EXPECT_EQ(slow.value(), "loaded");
  EXPECT_EQ(load_there("never", "k"), "loaded");
  EXPECT_EQ(load_here("never", "l"), "loaded");
}

}  // namespace
}  // namespace herdlock::scripted
