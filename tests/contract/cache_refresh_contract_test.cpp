// A claim beside an entry that is there: who refreshes it, and what the others see meanwhile.
#include <thread>

#include "framed_fixture.hpp"

namespace herdlock_test {
namespace {

class cache_refresh_contract : public refresh_fixture {};
INSTANTIATE_TEST_SUITE_P(stores, cache_refresh_contract,
                         testing::ValuesIn(stores_that(keeps_values)), case_name);

TEST_P(cache_refresh_contract, AnOldEntryIsClaimedAndAYoungOneIsAHit) {
  for (auto const& entry : entries) {
    put_old(entry);
    auto const hit = refresh(c, entry, alice, young);
    ASSERT_TRUE(is<cache_hit>(hit)) << entry.key.str();
    EXPECT_EQ(sorted(as<cache_hit>(hit).value), cache_lookup(entry.old_value));
    EXPECT_TRUE(is<claimed>(refresh(c, entry, alice, old))) << entry.key.str();
  }
}

TEST_P(cache_refresh_contract, AMissingKeyIsClaimedAsByAnyClaim) {
  for (auto const& entry : entries) {
    refreshed_by(alice, entry);
    EXPECT_TRUE(is<claim_busy>(claim(c, entry, bob)));
    EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::stored);
  }
}

TEST_P(cache_refresh_contract, TheEntryIsReadAndAnswersClaimsWhileItIsRefreshed) {
  auto other = another();
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry);
    for (client* one : {&c, other.get()}) {
      EXPECT_EQ(look(*one, entry), cache_lookup(entry.old_value));
      EXPECT_TRUE(is<cache_hit>(claim(*one, entry, bob)));
      EXPECT_TRUE(is<cache_hit>(refresh(*one, entry, bob, young)));
    }
  }
}

TEST_P(cache_refresh_contract, OneOfManyWhoWouldRefreshItDoes) {
  for (auto const& entry : entries) {
    put_old(entry);
    std::atomic<int> claims{0};
    std::atomic<int> others{0};
    std::vector<std::thread> all;
    for (int t = 0; t < 4; ++t) {
      all.emplace_back([&] {
        auto mine = another();
        for (int i = 0; i < 10; ++i) {
          auto const reply = refresh(*mine, entry, owner_token::generate(), old);
          claims += is<claimed>(reply) ? 1 : 0;
          others += is<claim_busy>(reply) ? 1 : 0;
        }
      });
    }
    for (auto& one : all) one.join();
    EXPECT_EQ(claims, 1);
    EXPECT_EQ(others, 39);
  }
}

TEST_P(cache_refresh_contract, OthersAreToldHowLongTheClaimRunsNotTheEntry) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry, 10s);
    auto const reply = as<claim_busy>(refresh(c, entry, bob, old));
    EXPECT_GT(reply.remaining, 0ms);
    EXPECT_LE(reply.remaining, 10s);
  }
}

TEST_P(cache_refresh_contract, TheSameOwnerAskingAgainHasTheSameClaim) {
  for (auto const& entry : entries) {
    put_old(entry);
    auto const first = refreshed_by(alice, entry, 10s);
    EXPECT_GT(first.value, 0u);
    EXPECT_EQ(refreshed_by(alice, entry, 1h), first);
    EXPECT_LE(as<claim_busy>(refresh(c, entry, bob, old)).remaining, 10s);
  }
}

TEST_P(cache_refresh_contract, TheFillTakesTheEntrysPlace) {
  for (auto const& entry : entries) {
    put_old(entry, young);
    auto const first = as<claimed>(refresh(c, entry, alice, written)).fencing;
    EXPECT_EQ(c.fill(entry.key, bob, entry.old_value).value(), fill_reply::superseded);
    EXPECT_EQ(c.fill(entry.key, alice, entry.new_value, old).value(), fill_reply::stored);
    EXPECT_EQ(look(entry), cache_lookup(entry.new_value));
    EXPECT_TRUE(is<cache_hit>(refresh(c, entry, bob, written))) << "it has its new time";
    expect_superseded(entry, alice);
    EXPECT_GT(as<claimed>(refresh(c, entry, bob, old + 1h)).fencing, first);
    EXPECT_EQ(look(entry), cache_lookup(entry.new_value));
  }
}

// R19: a refresh that comes late is fenced by its claim.
TEST_P(cache_refresh_contract, APutInBetweenSupersedesIt) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry);
    ASSERT_TRUE(c.put(entry.key, entry.old_value, written).has_value());
    EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, old))) << "nobody is at it any more";
    expect_superseded(entry, alice);
    EXPECT_EQ(look(entry), cache_lookup(entry.old_value));
    EXPECT_EQ(c.fill(entry.key, bob, entry.new_value).value(), fill_reply::stored);
  }
}

TEST_P(cache_refresh_contract, AnInvalidateInBetweenSupersedesIt) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry);
    EXPECT_TRUE(c.invalidate(entry.key).value());
    expect_superseded(entry, alice);
    EXPECT_FALSE(look(entry).has_value());
    EXPECT_TRUE(is<claimed>(claim(c, entry, bob)));
  }
}

TEST_P(cache_refresh_contract, AnExpireInBetweenSupersedesIt) {
  for (auto const& entry : entries) {
    ASSERT_TRUE(c.put(entry.key, framed(entry.old_value, entry.form), written).has_value());
    refreshed_by(alice, entry);
    EXPECT_TRUE(expire(c, entry.key, written).value());
    EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, old))) << "nobody is at it any more";
    expect_superseded(entry, alice);
    EXPECT_TRUE(look(entry).has_value());
    EXPECT_EQ(c.fill(entry.key, bob, entry.new_value).value(), fill_reply::stored);
  }
}

TEST_P(cache_refresh_contract, ItsErrorLiesBesideTheEntryAndNotOverIt) {
  auto other = another();
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry);
    EXPECT_EQ(c.fail(entry.key, bob, "x", 10s).value(), fill_reply::superseded);
    EXPECT_EQ(c.fail(entry.key, alice, "no such table", 10s).value(), fill_reply::stored);
    for (client* one : {&c, other.get()}) {
      auto const reply = as<load_backing_off>(refresh(*one, entry, bob, old));
      EXPECT_EQ(reply.error, "no such table");
      EXPECT_GT(reply.remaining, 0ms);
      EXPECT_LE(reply.remaining, 10s);
      EXPECT_TRUE(is<cache_hit>(claim(*one, entry, bob)));
      EXPECT_TRUE(is<cache_hit>(refresh(*one, entry, bob, young)));
      EXPECT_EQ(look(*one, entry), cache_lookup(entry.old_value));
    }
    EXPECT_EQ(c.fail(entry.key, alice, "again", 10s).value(), fill_reply::superseded);
    EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::superseded);
  }
}

TEST_P(cache_refresh_contract, WithoutABackOffItIsJustGivenUp) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry);
    EXPECT_EQ(c.fail(entry.key, alice, "gave up", 0ms).value(), fill_reply::stored);
    EXPECT_EQ(look(entry), cache_lookup(entry.old_value));
    EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, old)));
  }
}

TEST_P(cache_refresh_contract, AfterTheBackOffTheNextMayRefreshIt) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry);
    c.fail(entry.key, alice, "a moment ago", 50ms).value();
    EXPECT_TRUE(eventually([&] { return is<claimed>(refresh(c, entry, bob, old)); }));
    EXPECT_TRUE(is<claim_busy>(refresh(c, entry, alice, old))) << "the error is over";
    EXPECT_EQ(c.fill(entry.key, bob, entry.new_value).value(), fill_reply::stored);
    EXPECT_EQ(look(entry), cache_lookup(entry.new_value));
  }
}

TEST_P(cache_refresh_contract, AfterTheEntryItsErrorAnswersEverybody) {
  for (auto const& entry : entries) {
    put_old(entry, 100ms);
    refreshed_by(alice, entry);
    c.fail(entry.key, alice, "no such table", 1h).value();
    ASSERT_TRUE(eventually([&] { return !look(entry).has_value(); }));
    EXPECT_EQ(as<load_backing_off>(claim(c, entry, bob)).error, "no such table");
    EXPECT_EQ(as<load_backing_off>(refresh(c, entry, bob, old)).error, "no such table");
  }
}

TEST_P(cache_refresh_contract, APutClearsItsError) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry);
    c.fail(entry.key, alice, "no such table", 1h).value();
    put_old(entry);
    EXPECT_TRUE(is<claimed>(refresh(c, entry, bob, old)));
  }
}

TEST_P(cache_refresh_contract, TheClaimGoesOnWhenTheEntryEnds) {
  auto other = another();
  for (auto const& entry : entries) {
    put_old(entry, 100ms);
    auto const first = refreshed_by(alice, entry);
    ASSERT_TRUE(eventually([&] { return !look(entry).has_value(); }));
    EXPECT_TRUE(is<claim_busy>(claim(*other, entry, bob)));
    EXPECT_TRUE(is<claim_busy>(refresh(*other, entry, bob, old)));
    EXPECT_EQ(as<claimed>(claim(c, entry, alice)).fencing, first);
    EXPECT_EQ(c.extend(entry.key, alice, 1h).value(), renew_reply::renewed);
    EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::stored);
    EXPECT_EQ(look(entry), cache_lookup(entry.new_value));
  }
}

// S3, for a refresh.
TEST_P(cache_refresh_contract, ExtendKeepsTheClaimAndLeavesTheEntrysTime) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry, 500ms);
    EXPECT_EQ(c.extend(entry.key, bob, 4h).value(), renew_reply::lost);
    ASSERT_EQ(c.extend(entry.key, alice, 4h).value(), renew_reply::renewed);
    let_pass(600ms);
    EXPECT_TRUE(is<claim_busy>(refresh(c, entry, bob, old))) << "its own time is as it was, too";
    EXPECT_EQ(c.fill(entry.key, alice, entry.new_value).value(), fill_reply::stored);
  }
}

// S2, for a refresh: the key waits no longer for a loader that died.
TEST_P(cache_refresh_contract, AClaimThatEndedIsTheNextOnes) {
  for (auto const& entry : entries) {
    put_old(entry);
    refreshed_by(alice, entry, 30ms);
    EXPECT_TRUE(eventually([&] { return is<claimed>(refresh(c, entry, bob, old)); }));
    expect_superseded(entry, alice);
    EXPECT_EQ(look(entry), cache_lookup(entry.old_value));
    EXPECT_EQ(c.fill(entry.key, bob, entry.new_value).value(), fill_reply::stored);
  }
}

TEST_P(cache_refresh_contract, AnEntryOfTheOtherLayoutIsReplacedByTheFill) {
  auto const& [text, hash] = std::tie(entries[0], entries[1]);
  ASSERT_TRUE(c.put(hash.key, text.old_value, written).has_value());
  refreshed_by(alice, hash);
  EXPECT_EQ(c.fill(hash.key, alice, hash.new_value).value(), fill_reply::stored);
  EXPECT_EQ(look(hash), cache_lookup(hash.new_value));
}

TEST_P(cache_refresh_contract, WhatIsNoLengthOfTimeIsRefused) {
  auto const& entry = entries[0];
  put_old(entry);
  for (milliseconds const below : {-1ms, limits::max_ttl + 1ms, milliseconds::min()}) {
    EXPECT_TRUE(refresh(c, entry, alice, below).error() == errc::invalid_ttl);
  }
  EXPECT_TRUE(is<claimed>(refresh(c, entry, alice, limits::max_ttl)));
}

// Nobody is at it: the entry may be the old one, so it is no answer.
TEST_P(cache_refresh_contract, WithoutAClaimAWatchSaysLookAgain) {
  for (auto const& entry : entries) {
    put_old(entry);
    auto const reply = c.get(c.start_watch({entry.key, wait_forever, entry.form}));
    EXPECT_TRUE(is<look_again>(reply));
  }
}

}  // namespace
}  // namespace herdlock_test
