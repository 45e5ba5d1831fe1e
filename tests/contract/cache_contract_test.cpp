// The cache port's promises, for every store.
#include <thread>

#include "fixture.hpp"

namespace herdlock_test {
namespace {

class cache_contract : public store_contract {
 protected:
  cache_key const key{"product:1"};

  fencing_token claimed_by(owner_token const& owner, milliseconds ttl = 1min) {
    return as<claimed>(c.claim(key, owner, ttl)).fencing;
  }
  std::string value() { return text_of(c.look(key)); }
  // Waits for the store's own expiry of the claim, by being the next to get it.
  fencing_token claimed_when_free(owner_token const& owner, milliseconds ttl = 1min) {
    fencing_token token;
    EXPECT_TRUE(eventually([&] {
      auto reply = c.claim(key, owner, ttl);
      if (is<claimed>(reply)) token = as<claimed>(reply).fencing;
      return is<claimed>(reply);
    }));
    return token;
  }
};

INSTANTIATE_TEST_SUITE_P(stores, cache_contract, testing::ValuesIn(stores_that(keeps_values)),
                         case_name);

TEST_P(cache_contract, WhatWasNeverPutIsAMiss) {
  EXPECT_FALSE(c.look(key).value().has_value());
  EXPECT_FALSE(c.look(key, layout::hash).value().has_value());
}

TEST_P(cache_contract, AStringComesBackAsItWasPut) {
  for (std::string const& text : {std::string("one"), std::string(), std::string("\0\xff\n:", 4),
                                  std::string(100'000, 'x')}) {
    ASSERT_TRUE(c.put(key, text).has_value());
    auto found = c.look(key).value();
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(*found, cache_value(text));
  }
}

TEST_P(cache_contract, AHashComesBackAsItWasPut) {
  hash_fields fields{
      {"name", "Tea"}, {"price", "250"}, {"empty", ""}, {"b", std::string("\0:", 2)}};
  ASSERT_TRUE(c.put(key, fields).has_value());
  auto found = c.look(key, layout::hash).value();
  ASSERT_TRUE(found.has_value());
  auto back = std::get<hash_fields>(*found);
  std::sort(back.begin(), back.end());
  std::sort(fields.begin(), fields.end());
  EXPECT_EQ(back, fields);
}

TEST_P(cache_contract, ANewHashReplacesTheOldOneWithAllItsFields) {
  ASSERT_TRUE(c.put(key, hash_fields{{"old", "1"}, {"both", "1"}}).has_value());
  hash_fields fields{{"both", "2"}};
  ASSERT_TRUE(c.put(key, fields).has_value());
  EXPECT_EQ(c.look(key, layout::hash).value(), cache_lookup(fields));
}

TEST_P(cache_contract, ANegativeEntryFitsBothLayouts) {
  ASSERT_TRUE(c.put(key, absent{}).has_value());
  EXPECT_EQ(c.look(key, layout::string).value(), cache_lookup(absent{}));
  EXPECT_EQ(c.look(key, layout::hash).value(), cache_lookup(absent{}));
  EXPECT_EQ(as<cache_hit>(c.claim(key, alice)).value, cache_value(absent{}));
}

// S9: a value that cannot be read this way is no miss.
TEST_P(cache_contract, TheOtherLayoutIsReportedAsWrongType) {
  ASSERT_TRUE(c.put(key, std::string("text")).has_value());
  EXPECT_TRUE(c.look(key, layout::hash).error() == errc::wrong_type);
  EXPECT_TRUE(c.get(c.start_claim({key, alice, 1min, layout::hash})).error() == errc::wrong_type);
  ASSERT_TRUE(c.put(key, hash_fields{{"f", "v"}}).has_value());
  auto wrong = c.look(key, layout::string);
  ASSERT_FALSE(wrong.has_value());
  EXPECT_TRUE(wrong.error() == errc::wrong_type);
  EXPECT_NE(wrong.error().message.find("product:1"), std::string::npos) << wrong.error().message;
}

TEST_P(cache_contract, AValueExpiresAtItsTtl) {
  auto before = herdlock::clock::now();
  ASSERT_TRUE(c.put(key, std::string("short"), 100ms).has_value());
  ASSERT_TRUE(eventually([&] { return value() == "(miss)"; }));
  EXPECT_GE(herdlock::clock::now() - before, 98ms);
  EXPECT_TRUE(is<claimed>(c.claim(key, alice)));
}

TEST_P(cache_contract, AMissingKeyIsClaimed) { EXPECT_GT(claimed_by(alice).value, 0u); }

TEST_P(cache_contract, AClaimIsNoValue) {
  claimed_by(alice);
  EXPECT_EQ(value(), "(miss)");
  EXPECT_FALSE(c.look(key, layout::hash).value().has_value());
}

// The second look is part of the claim: a value that came between a miss and the claim is found.
TEST_P(cache_contract, AClaimOnAValueIsAHit) {
  ASSERT_TRUE(c.put(key, std::string("there")).has_value());
  EXPECT_EQ(as<cache_hit>(c.claim(key, alice)).value, cache_value(std::string("there")));
}

TEST_P(cache_contract, AClaimOnAHashIsAHitWithItsFields) {
  hash_fields fields{{"f", "v"}};
  ASSERT_TRUE(c.put(key, fields).has_value());
  auto reply = c.get(c.start_claim({key, alice, 1min, layout::hash}));
  EXPECT_EQ(as<cache_hit>(reply).value, cache_value(fields));
}

TEST_P(cache_contract, TheSameOwnerAskingAgainHasTheSameClaim) {
  fencing_token first = claimed_by(alice, 10s);
  EXPECT_EQ(claimed_by(alice, 1h), first);
  EXPECT_LE(as<claim_busy>(c.claim(key, bob)).remaining, 10s);
}

TEST_P(cache_contract, AnotherOwnerIsToldHowLongTheClaimRuns) {
  claimed_by(alice, 10s);
  auto reply = as<claim_busy>(c.claim(key, bob));
  EXPECT_GT(reply.remaining, 0ms);
  EXPECT_LE(reply.remaining, 10s);
  auto other = another();
  EXPECT_TRUE(is<claim_busy>(other->claim(key, carol)));
}

// S1: one load per miss.
TEST_P(cache_contract, OneClaimAmongManyConcurrentOnes) {
  auto other = another();
  std::vector<pending<claim_reply>> mine;
  std::vector<pending<claim_reply>> theirs;
  for (int i = 0; i < 25; ++i) {
    mine.push_back(c.start_claim({key, owner_token::generate(), 1min}));
    theirs.push_back(other->start_claim({key, owner_token::generate(), 1min}));
  }
  int claims = 0;
  for (auto& one : mine) claims += is<claimed>(c.get(one)) ? 1 : 0;
  for (auto& one : theirs) claims += is<claimed>(other->get(one)) ? 1 : 0;
  EXPECT_EQ(claims, 1);
}

TEST_P(cache_contract, AFillEndsTheClaimWithTheValue) {
  claimed_by(alice);
  EXPECT_EQ(c.fill(key, alice, std::string("loaded")).value(), fill_reply::stored);
  EXPECT_EQ(value(), "loaded");
  EXPECT_EQ(as<cache_hit>(c.claim(key, bob)).value, cache_value(std::string("loaded")));
  EXPECT_EQ(c.fill(key, alice, std::string("again")).value(), fill_reply::superseded);
  EXPECT_EQ(value(), "loaded");
}

TEST_P(cache_contract, HashesAndNegativeEntriesAreFilledToo) {
  claimed_by(alice);
  hash_fields fields{{"name", "Tea"}};
  EXPECT_EQ(c.fill(key, alice, fields).value(), fill_reply::stored);
  EXPECT_EQ(c.look(key, layout::hash).value(), cache_lookup(fields));
  ASSERT_TRUE(c.invalidate(key).value());
  claimed_by(alice);
  EXPECT_EQ(c.fill(key, alice, absent{}).value(), fill_reply::stored);
  EXPECT_EQ(value(), "(absent)");
}

// S6: only the one who has the claim may store.
TEST_P(cache_contract, AFillWithoutTheClaimIsSupersededAndChangesNothing) {
  EXPECT_EQ(c.fill(key, bob, std::string("no claim")).value(), fill_reply::superseded);
  EXPECT_EQ(value(), "(miss)");
  claimed_by(alice);
  EXPECT_EQ(c.fill(key, bob, std::string("stranger")).value(), fill_reply::superseded);
  EXPECT_EQ(value(), "(miss)");
  EXPECT_EQ(c.fill(key, alice, std::string("right")).value(), fill_reply::stored);
}

// S6: a loader that was paused past its claim must not overwrite what came after.
TEST_P(cache_contract, ALateFillIsSupersededByTheNextClaim) {
  claimed_by(alice, 30ms);
  claimed_when_free(bob);
  EXPECT_EQ(c.fill(key, alice, std::string("old")).value(), fill_reply::superseded);
  EXPECT_EQ(c.fill(key, bob, std::string("new")).value(), fill_reply::stored);
  EXPECT_EQ(c.fill(key, alice, std::string("old")).value(), fill_reply::superseded);
  EXPECT_EQ(value(), "new");
}

TEST_P(cache_contract, AFillAfterTheClaimExpiredIsSuperseded) {
  claimed_by(alice, 30ms);
  let_pass(50ms);
  EXPECT_EQ(c.fill(key, alice, std::string("late")).value(), fill_reply::superseded);
  EXPECT_EQ(value(), "(miss)");
}

// S6: a change that happens during a load must not be undone by it.
TEST_P(cache_contract, InvalidateVoidsARunningClaim) {
  claimed_by(alice);
  EXPECT_FALSE(c.invalidate(key).value());
  EXPECT_EQ(c.extend(key, alice, 1min).value(), renew_reply::lost);
  EXPECT_EQ(c.fill(key, alice, std::string("old")).value(), fill_reply::superseded);
  EXPECT_EQ(value(), "(miss)");
}

TEST_P(cache_contract, PutVoidsARunningClaim) {
  claimed_by(alice);
  ASSERT_TRUE(c.put(key, std::string("put")).has_value());
  EXPECT_EQ(c.fill(key, alice, std::string("old")).value(), fill_reply::superseded);
  EXPECT_EQ(c.fail(key, alice, "late error", 1min).value(), fill_reply::superseded);
  EXPECT_EQ(value(), "put");
}

// S2: a loader that died must not block the key.
TEST_P(cache_contract, AnExpiredClaimIsTakenByTheNextWithAGreaterToken) {
  fencing_token first = claimed_by(alice, 30ms);
  EXPECT_GT(claimed_when_free(bob), first);
}

TEST_P(cache_contract, ClaimTokensIncreaseOverFillInvalidateAndFail) {
  fencing_token last{};
  for (int i = 0; i < 20; ++i) {
    owner_token owner = owner_token::generate();
    fencing_token next = claimed_by(owner);
    ASSERT_GT(next, last);
    last = next;
    if (i % 3 == 0) c.fill(key, owner, std::string("v")).value();
    if (i % 3 == 1) c.fail(key, owner, "", 0ms).value();
    if (i % 3 != 1) c.invalidate(key).value();
  }
}

// S3: a loader slower than its claim keeps it by extending it.
TEST_P(cache_contract, ExtendKeepsTheClaimPastItsFirstTtl) {
  claimed_by(alice, 500ms);
  ASSERT_EQ(c.extend(key, alice, 1h).value(), renew_reply::renewed);
  let_pass(600ms);
  EXPECT_TRUE(is<claim_busy>(c.claim(key, bob)));
  EXPECT_EQ(c.fill(key, alice, std::string("slow")).value(), fill_reply::stored);
}

TEST_P(cache_contract, ExtendByAStrangerOrAfterTheEndIsLost) {
  EXPECT_EQ(c.extend(key, alice, 1min).value(), renew_reply::lost);
  claimed_by(alice, 10s);
  EXPECT_EQ(c.extend(key, bob, 1h).value(), renew_reply::lost);
  EXPECT_LE(as<claim_busy>(c.claim(key, bob)).remaining, 10s);
  c.fill(key, alice, std::string("v")).value();
  EXPECT_EQ(c.extend(key, alice, 1min).value(), renew_reply::lost);
  EXPECT_EQ(value(), "v");
}

TEST_P(cache_contract, ExtendAfterExpiryIsLostAndDoesNotClaim) {
  claimed_by(alice, 30ms);
  let_pass(50ms);
  EXPECT_EQ(c.extend(key, alice, 1min).value(), renew_reply::lost);
  EXPECT_TRUE(is<claimed>(c.claim(key, bob)));
}

// S5: the error of a failed load is everyone's, instead of everyone's loading in turn.
TEST_P(cache_contract, AFailedLoadAnswersEveryoneUntilItsBackOffEnds) {
  claimed_by(alice);
  EXPECT_EQ(c.fail(key, alice, "no such table: Product", 10s).value(), fill_reply::stored);
  auto other = another();
  for (client* one : {&c, other.get()}) {
    auto reply = as<load_backing_off>(one->claim(key, bob));
    EXPECT_EQ(reply.error, "no such table: Product");
    EXPECT_GT(reply.remaining, 0ms);
    EXPECT_LE(reply.remaining, 10s);
  }
  EXPECT_EQ(value(), "(miss)");
}

TEST_P(cache_contract, AfterTheBackOffTheNextMayLoad) {
  claimed_by(alice);
  c.fail(key, alice, "a moment ago", 50ms).value();
  claimed_when_free(bob);
  EXPECT_EQ(c.fill(key, bob, std::string("better")).value(), fill_reply::stored);
  EXPECT_EQ(value(), "better");
}

TEST_P(cache_contract, FailWithNoBackOffJustGivesTheClaimUp) {
  claimed_by(alice);
  EXPECT_EQ(c.fail(key, alice, "gave up", 0ms).value(), fill_reply::stored);
  EXPECT_TRUE(is<claimed>(c.claim(key, bob)));
}

TEST_P(cache_contract, FailWithoutTheClaimIsSupersededAndHarmless) {
  EXPECT_EQ(c.fail(key, bob, "x", 10s).value(), fill_reply::superseded);
  claimed_by(alice);
  EXPECT_EQ(c.fail(key, bob, "x", 10s).value(), fill_reply::superseded);
  EXPECT_EQ(c.fail(key, bob, "x", 0ms).value(), fill_reply::superseded);
  EXPECT_EQ(c.fill(key, alice, std::string("v")).value(), fill_reply::stored);
}

TEST_P(cache_contract, PutAndInvalidateClearAnError) {
  claimed_by(alice);
  c.fail(key, alice, "x", 1h).value();
  ASSERT_TRUE(c.put(key, std::string("put")).has_value());
  EXPECT_TRUE(is<cache_hit>(c.claim(key, bob)));
  c.invalidate(key).value();
  claimed_by(alice);
  c.fail(key, alice, "x", 1h).value();
  EXPECT_FALSE(c.invalidate(key).value());
  EXPECT_TRUE(is<claimed>(c.claim(key, bob)));
}

// No error of an earlier load comes back after a later value has gone.
TEST_P(cache_contract, AnErrorIsGoneForGoodOnceAValueWasStored) {
  claimed_by(alice);
  c.fail(key, alice, "old error", 1h).value();
  ASSERT_TRUE(c.put(key, std::string("v"), 30ms).has_value());
  ASSERT_TRUE(eventually([&] { return value() == "(miss)"; }));
  EXPECT_TRUE(is<claimed>(c.claim(key, bob)));
}

TEST_P(cache_contract, InvalidateTellsWhetherThereWasAnEntry) {
  EXPECT_FALSE(c.invalidate(key).value());
  ASSERT_TRUE(c.put(key, std::string("v")).has_value());
  EXPECT_TRUE(c.invalidate(key).value());
  EXPECT_FALSE(c.invalidate(key).value());
  EXPECT_EQ(value(), "(miss)");
  ASSERT_TRUE(c.put(key, hash_fields{{"f", "v"}}).has_value());
  EXPECT_TRUE(c.invalidate(key).value());
  EXPECT_FALSE(c.look(key, layout::hash).value().has_value());
}

TEST_P(cache_contract, PutReplacesAValueOfTheOtherLayout) {
  ASSERT_TRUE(c.put(key, hash_fields{{"f", "v"}}).has_value());
  ASSERT_TRUE(c.put(key, std::string("text")).has_value());
  EXPECT_EQ(value(), "text");
  ASSERT_TRUE(c.put(key, hash_fields{{"f", "v"}}).has_value());
  EXPECT_EQ(c.look(key, layout::hash).value(), cache_lookup(hash_fields{{"f", "v"}}));
}

TEST_P(cache_contract, KeysAreIndependent) {
  claimed_by(alice);
  cache_key other("product:2");
  EXPECT_TRUE(is<claimed>(c.claim(other, alice)));
  EXPECT_EQ(c.fill(other, alice, std::string("two")).value(), fill_reply::stored);
  EXPECT_EQ(value(), "(miss)");
  EXPECT_TRUE(is<claim_busy>(c.claim(key, bob)));
}

TEST_P(cache_contract, KeysOfAnyBytesUpToTheLimitAreDistinct) {
  std::string longest(limits::max_name_bytes, 'k');
  std::vector<std::string> keys{longest, longest.substr(1), "a\nb", "a b", "{a}",
                                "缓存",  "\xff\xfe"};
  for (auto const& text : keys) ASSERT_TRUE(c.put(cache_key(text), text).has_value());
  for (auto const& text : keys) EXPECT_EQ(text_of(c.look(cache_key(text))), text);
}

// S8: nothing can be stored without an end.
TEST_P(cache_contract, TtlsAreAcceptedAtTheLimitsAndRefusedBeyond) {
  EXPECT_TRUE(c.put(key, std::string("v"), limits::max_ttl).has_value());
  EXPECT_EQ(value(), "v");
  EXPECT_TRUE(c.put(key, std::string("v"), limits::min_ttl).has_value());
  c.invalidate(key).value();
  for (milliseconds ttl : {limits::min_ttl - 1ms, limits::max_ttl + 1ms, 0ms, -1ms,
                           milliseconds::min(), milliseconds::max()}) {
    EXPECT_TRUE(c.put(key, std::string("v"), ttl).error() == errc::invalid_ttl);
    EXPECT_TRUE(c.claim(key, alice, ttl).error() == errc::invalid_ttl);
    EXPECT_TRUE(c.extend(key, alice, ttl).error() == errc::invalid_ttl);
    EXPECT_TRUE(c.fill(key, alice, std::string("v"), ttl).error() == errc::invalid_ttl);
  }
  EXPECT_TRUE(c.fail(key, alice, "x", -1ms).error() == errc::invalid_ttl);
  EXPECT_TRUE(c.fail(key, alice, "x", limits::max_ttl + 1ms).error() == errc::invalid_ttl);
  EXPECT_EQ(value(), "(miss)");
}

TEST_P(cache_contract, ValuesAreAcceptedUpToTheLimitAndRefusedBeyond) {
  std::string largest(limits::max_value_bytes, 'v');
  claimed_by(alice);
  EXPECT_TRUE(c.fill(key, alice, largest + "v").error() == errc::invalid_value);
  EXPECT_EQ(c.fill(key, alice, largest).value(), fill_reply::stored);
  EXPECT_EQ(c.look(key).value(), cache_lookup(largest));
  EXPECT_TRUE(c.put(key, largest + "v").error() == errc::invalid_value);
  EXPECT_EQ(c.look(key).value(), cache_lookup(largest));
}

// Many loaders at once over two handles: the value that stays is one that was stored, and every
// claim was ended by its own owner only.
TEST_P(cache_contract, ConcurrentLoadersStoreOneValuePerClaim) {
  std::atomic<int> stored{0};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t) {
    all.emplace_back([&] {
      auto mine = another();
      for (int round = 0; round < 20; ++round) {
        owner_token owner = owner_token::generate();
        auto reply = mine->claim(key, owner);
        if (!is<claimed>(reply)) continue;
        if (mine->fill(key, owner, "by " + owner.str() + ".").value() == fill_reply::stored)
          ++stored;
        mine->invalidate(key).value();
      }
    });
  }
  for (auto& one : all) one.join();
  EXPECT_GE(stored, 1);
  EXPECT_EQ(value(), "(miss)");
}

}  // namespace
}  // namespace herdlock_test
