// The lease port's promises, for every store.
#include <thread>

#include "fixture.hpp"

namespace herdlock_test {
namespace {

class lease_contract : public store_contract {
 protected:
  resource const stock{"stock:1"};

  fencing_token granted(owner_token const& owner, milliseconds ttl = 1min) {
    return as<grant>(c.acquire(stock, owner, ttl)).fencing;
  }
  std::string holder() {
    auto info = c.inspect(stock).value();
    return info ? info->holder : "nobody";
  }
  // Of several nodes one that voted late has a counter of its own, and may be among those that are
  // asked later: its token is greater, never lower.
  void expect_same_or_later(fencing_token first, fencing_token again) {
    bool const of_many = GetParam().name == "redlock";
    if (of_many) {
      EXPECT_GE(again, first);
    } else {
      EXPECT_EQ(again, first);
    }
  }
  // Waits for the store's own expiry.
  void expect_expiry() {
    ASSERT_TRUE(eventually([&] { return !c.inspect(stock).value().has_value(); }));
  }
};

INSTANTIATE_TEST_SUITE_P(stores, lease_contract, testing::ValuesIn(stores_that(is_exact)),
                         case_name);

class lease_fencing_contract : public lease_contract {};

bool fences(store_case const& kind) { return kind.fences; }
INSTANTIATE_TEST_SUITE_P(stores, lease_fencing_contract, testing::ValuesIn(stores_that(fences)),
                         case_name);

TEST_P(lease_contract, AFreeResourceIsGranted) {
  EXPECT_EQ(c.store().traits.fences, GetParam().fences);
  expect_fencing_after(GetParam(), {}, granted(alice));
}

TEST_P(lease_contract, AHeldResourceIsBusyAndTellsByWhomAndForHowLong) {
  granted(alice, 30s);
  auto reply = as<busy>(c.acquire(stock, bob));
  EXPECT_EQ(reply.holder, alice.label());
  EXPECT_GT(reply.remaining, 0ms);
  EXPECT_LE(reply.remaining, 30s);
}

// The secret part of an owner token is never given away (it would let anybody release).
TEST_P(lease_contract, TheHoldersSecretIsNotTold) {
  granted(alice);
  std::string secret = alice.str().substr(alice.label().size() + 1);
  EXPECT_EQ(as<busy>(c.acquire(stock, bob)).holder.find(secret), std::string::npos);
  EXPECT_EQ(c.inspect(stock).value()->holder.find(secret), std::string::npos);
}

// B7: a retry after a lost reply must find its own lease, not be blocked by it.
TEST_P(lease_contract, AskingAgainWithTheSameOwnerReturnsTheSameGrantAndDoesNotProlongIt) {
  fencing_token first = granted(alice, 10s);
  auto const latest_end = clock::now() + 10s;
  auto const again = as<grant>(c.acquire(stock, alice, 10s));
  expect_same_or_later(first, again.fencing);
  // It tells since when it runs, else the holder would count it from the second request.
  ASSERT_TRUE(again.validity);
  // A session that is kept alive moves its end by itself.
  if (c.store().traits.longest_validity == 0ms) {
    EXPECT_LE(again.validity->since + again.validity->ttl,
              latest_end + 1ms);  // stores count in these
  }
  expect_same_or_later(first, granted(alice, 1h));
  EXPECT_LE(c.inspect(stock).value()->remaining, 10s);
}

TEST_P(lease_contract, ResourcesAreIndependent) {
  granted(alice);
  EXPECT_TRUE(is<grant>(c.acquire(resource("stock:2"), bob)));
  EXPECT_TRUE(is<grant>(c.acquire(resource("stock:1 "), bob)));
  EXPECT_TRUE(is<grant>(c.acquire(resource("STOCK:1"), bob)));
}

TEST_P(lease_contract, AnotherHandleSeesTheSameLeases) {
  granted(alice);
  auto other = another();
  EXPECT_TRUE(is<busy>(other->acquire(stock, bob)));
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(other->acquire(stock, bob)));
}

// B6: an extension must not "succeed" for somebody else.
TEST_P(lease_contract, RenewByAStrangerIsLostAndChangesNothing) {
  granted(alice, 10s);
  EXPECT_EQ(c.renew(stock, bob, 1h).value(), renew_reply::lost);
  EXPECT_EQ(holder(), alice.label());
  EXPECT_LE(c.inspect(stock).value()->remaining, 10s);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
}

// B5: an unlock must not delete somebody else's lock.
TEST_P(lease_contract, ReleaseByAStrangerIsLostAndHarmless) {
  granted(alice);
  EXPECT_EQ(c.release(stock, bob).value(), release_reply::lost);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_TRUE(is<busy>(c.acquire(stock, carol)));
}

// Asked again, a store may tell its first answer, as after a lost reply.
TEST_P(lease_contract, ReleaseFreesTheResourceAndASecondOneTouchesNobody) {
  granted(alice);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::released);
  EXPECT_TRUE(c.release(stock, alice).has_value());
  EXPECT_TRUE(is<grant>(c.acquire(stock, bob)));
  EXPECT_TRUE(c.release(stock, alice).has_value());
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
  EXPECT_TRUE(is<busy>(c.acquire(stock, carol)));
}

TEST_P(lease_contract, ReleaseOfWhatNobodyHoldsIsLost) {
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.force_release(stock).value(), release_reply::lost);
}

TEST_P(lease_contract, RenewSetsTheTimeLeft) {
  granted(alice, 10s);
  EXPECT_EQ(c.renew(stock, alice, 1h).value(), renew_reply::renewed);
  EXPECT_GT(c.inspect(stock).value()->remaining, 30min);
  EXPECT_EQ(c.renew(stock, alice, 10s).value(), renew_reply::renewed);
  EXPECT_LE(c.inspect(stock).value()->remaining, 10s);
}

TEST_P(lease_contract, RenewalKeepsTheLeasePastItsFirstTtl) {
  fencing_token first = granted(alice, 500ms);
  ASSERT_EQ(c.renew(stock, alice, 1h).value(), renew_reply::renewed);
  let_pass(600ms);
  EXPECT_TRUE(is<busy>(c.acquire(stock, bob)));
  expect_same_or_later(first, granted(alice));
}

// B4: a lost lease is never silently taken again by a renewal.
TEST_P(lease_contract, RenewAfterExpiryReportsLostAndDoesNotAcquire) {
  granted(alice, brief());
  expect_expiry();
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(holder(), "nobody");
}

TEST_P(lease_contract, RenewAfterReleaseReportsLostAndDoesNotAcquire) {
  granted(alice);
  c.release(stock, alice).value();
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(holder(), "nobody");
}

// B5, B6: the late ones, after another has taken over.
TEST_P(lease_contract, TheFormerHolderCannotTouchItsSuccessor) {
  granted(alice, brief());
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, bob)); }));
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
  EXPECT_EQ(c.renew(stock, bob).value(), renew_reply::renewed);
}

TEST_P(lease_contract, ReleaseAfterExpiryReportsLost) {
  granted(alice, brief());
  expect_expiry();
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
}

TEST_P(lease_contract, AnExpiredLeaseGoesToTheNextWhoAsks) {
  granted(alice, brief());
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, bob)); }));
  EXPECT_EQ(holder(), bob.label());
}

// A lower bound, which no load can break: the ttl began after `before`. (2 ms: servers count in
// whole milliseconds.)
TEST_P(lease_contract, NobodyElseIsGrantedTheResourceBeforeItsTtlIsOver) {
  auto before = herdlock::clock::now();
  granted(alice, 200ms);
  ASSERT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, bob)); }));
  EXPECT_GE(herdlock::clock::now() - before, 198ms);
}

TEST_P(lease_fencing_contract, FencingTokensIncreaseOverReleaseExpiryAndForce) {
  fencing_token last = granted(alice);
  auto expect_greater = [&](owner_token const& owner, milliseconds ttl) {
    fencing_token next;
    ASSERT_TRUE(eventually([&] {
      auto reply = c.acquire(stock, owner, ttl);
      if (is<grant>(reply)) next = as<grant>(reply).fencing;
      return is<grant>(reply);
    }));
    EXPECT_GT(next, last);
    last = next;
  };
  c.release(stock, alice).value();
  expect_greater(bob, brief());  // after a release
  expect_greater(carol, 1min);   // after an expiry
  c.force_release(stock).value();
  expect_greater(alice, 1min);  // after force
  c.release(stock, alice).value();
  expect_greater(alice, 1min);  // also for one who had it before
}

TEST_P(lease_fencing_contract, FencingTokensIncreaseThroughManyShortLeases) {
  auto other = another();
  fencing_token last{};
  for (int i = 0; i < 100; ++i) {
    client& turn = i % 2 == 0 ? c : *other;
    owner_token owner = owner_token::generate();
    fencing_token next = as<grant>(turn.acquire(stock, owner)).fencing;
    ASSERT_GT(next, last);
    last = next;
    ASSERT_EQ(turn.release(stock, owner).value(), release_reply::released);
  }
}

TEST_P(lease_contract, InspectTellsHolderFencingAndTimeLeft) {
  EXPECT_FALSE(c.inspect(stock).value().has_value());
  fencing_token fencing = granted(alice, 30s);
  auto info = c.inspect(stock).value();
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->holder, alice.label());
  expect_same_or_later(fencing, info->fencing);
  EXPECT_GT(info->remaining, 0ms);
  EXPECT_LE(info->remaining, 30s);
  c.release(stock, alice).value();
  EXPECT_FALSE(c.inspect(stock).value().has_value());
}

TEST_P(lease_contract, ForceReleaseTakesItFromItsHolderWhoLearnsIt) {
  granted(alice);
  EXPECT_EQ(c.force_release(stock).value(), release_reply::released);
  EXPECT_EQ(holder(), "nobody");
  EXPECT_EQ(c.renew(stock, alice).value(), renew_reply::lost);
  EXPECT_EQ(c.release(stock, alice).value(), release_reply::lost);
}

TEST_P(lease_contract, TtlsAreAcceptedAtTheLimitsAndRefusedBeyond) {
  EXPECT_TRUE(is<grant>(c.acquire(stock, alice, limits::max_ttl)));
  EXPECT_EQ(c.renew(stock, alice, limits::max_ttl).value(), renew_reply::renewed);
  // A quorum that must answer within these 10 ms may be too late, and says so.
  auto shortest = c.renew(stock, alice, limits::min_ttl);
  if (shortest) {
    EXPECT_EQ(*shortest, renew_reply::renewed);
  } else {
    EXPECT_TRUE(shortest.error() == errc::unavailable) << shortest.error().message;
  }
  EXPECT_TRUE(eventually([&] { return is<grant>(c.acquire(stock, bob, limits::min_ttl)); }));
  EXPECT_TRUE(eventually([&] { return holder() == "nobody"; }));
  for (milliseconds ttl : {limits::min_ttl - 1ms, limits::max_ttl + 1ms, 0ms, -1ms,
                           milliseconds::min(), milliseconds::max()}) {
    EXPECT_TRUE(c.acquire(stock, alice, ttl).error() == errc::invalid_ttl);
    EXPECT_TRUE(c.renew(stock, alice, ttl).error() == errc::invalid_ttl);
  }
  EXPECT_EQ(holder(), "nobody");
}

TEST_P(lease_contract, NamesOfAnyBytesUpToTheLimitAreDistinct) {
  std::string longest(limits::max_name_bytes, 'n');
  std::vector<std::string> names{longest,
                                 longest.substr(1),
                                 "a\nb",
                                 "a b",
                                 "{a}",
                                 "%s",
                                 "缓存",
                                 "\xff\xfe",
                                 "'; DROP TABLE herdlock_leases; --"};
  for (auto const& name : names) EXPECT_TRUE(is<grant>(c.acquire(resource(name), alice))) << name;
  for (auto const& name : names) {
    EXPECT_EQ(c.release(resource(name), alice).value(), release_reply::released) << name;
  }
}

TEST_P(lease_contract, ExactlyOneOfManyConcurrentAcquiresIsGranted) {
  std::vector<pending<acquire_reply>> all;
  for (int i = 0; i < 50; ++i) {
    all.push_back(c.start_acquire({stock, owner_token::generate(), 1min}));
  }
  int grants = 0;
  for (auto& one : all) grants += is<grant>(c.get(one)) ? 1 : 0;
  EXPECT_EQ(grants, 1);
}

// Exclusion with a client per thread: `inside` and `total` are only right if nobody overlaps.
TEST_P(lease_contract, HoldersNeverOverlap) {
  constexpr int threads = 4;
  constexpr int rounds = 25;
  std::atomic<int> inside{0};
  std::atomic<int> overlaps{0};
  int total = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      auto mine = another();
      for (int round = 0; round < rounds; ++round) {
        owner_token owner = owner_token::generate();
        EXPECT_TRUE(eventually([&] { return is<grant>(mine->acquire(stock, owner)); }));
        if (inside.fetch_add(1) != 0) ++overlaps;
        ++total;
        inside.fetch_sub(1);
        EXPECT_EQ(mine->release(stock, owner).value(), release_reply::released);
      }
    });
  }
  for (auto& one : all) one.join();
  EXPECT_EQ(overlaps, 0);
  EXPECT_EQ(total, threads * rounds);
}

// B7: whatever the race between cancellation and answer, cleaning up by owner leaves nothing.
TEST_P(lease_contract, ACancelledAcquireLeavesNothingBehindOnceReleased) {
  for (int i = 0; i < 20; ++i) {
    auto one = c.start_acquire({stock, alice, 1min});
    if (i % 2 == 1) c.run_until([turns = i]() mutable { return --turns < 0; });
    one.cancel();
    auto reply = c.get(one);
    if (!reply) {
      EXPECT_TRUE(reply.error() == errc::canceled) << reply.error().message;
    }
    auto const released = c.release(stock, alice);
    ASSERT_TRUE(released.has_value()) << released.error().message;
    auto const next = c.acquire(stock, bob);
    ASSERT_TRUE(next.has_value()) << next.error().message;
    ASSERT_TRUE(is<grant>(next)) << "busy, round " << i << ", cancelled: " << !reply
                                 << ", lost: " << (*released == release_reply::lost);
    ASSERT_EQ(c.release(stock, bob).value(), release_reply::released);
  }
}

// B20: no handler is forgotten when the handle goes away.
TEST_P(lease_contract, ClosingTheHandleEndsEveryOperation) {
  granted(alice);
  auto other = another();
  std::vector<pending<acquire_reply>> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back(other->start_acquire({stock, owner_token::generate(), 1min, wait_forever}));
  }
  other->close();
  for (auto& one : all) {
    ASSERT_TRUE(one.done());
    EXPECT_FALSE(is<grant>(one.outcome()));
  }
}

// Whatever has been asked of the server and not yet been answered: the answer finds nobody.
TEST_P(lease_contract, TheHandleCanBeClosedAtEachStepOfAnAcquisition) {
  int end = 0;
  for (int steps = 0; end == 0 && steps < 200; ++steps) {
    auto const other = another();
    auto const number = std::to_string(steps);
    ASSERT_TRUE(is<grant>(other->acquire(resource("known:" + number), alice)));
    resource const fresh("fresh:" + number);
    auto const asked = other->start_acquire({fresh, alice, 1min});
    auto const waits = other->start_acquire({fresh, bob, 1min, 1min});
    for (int i = 0; i < steps && !asked.done(); ++i) other->run_steps(1);
    if (asked.done()) end = steps;
    other->close();
    ASSERT_TRUE(asked.done() && waits.done()) << steps;
    EXPECT_TRUE(asked.outcome() || asked.outcome().error() == errc::canceled)
        << steps << ": " << asked.outcome().error().message;
  }
  EXPECT_GT(end, 0);
}

}  // namespace
}  // namespace herdlock_test
