// One owner token in two handles: the second goes on with what the first one made.
#include <algorithm>

#include "etcd_ports.hpp"

namespace herdlock_test {
namespace {

class EtcdOwnerTest : public testing::Test {
 protected:
  EtcdOwnerTest() { server().flush(); }
  static etcd_server& server() { return etcd_server::shared(); }

  bool has_lease(std::string const& lease) const {
    auto const all = server().leases();
    return std::find(all.begin(), all.end(), lease) != all.end();
  }
  // As etcdctl writes it, of the youngest key.
  std::string youngest_lease() const {
    auto const text = server().member().ctl({"get", "stock/1/", "--prefix", "--sort-by=CREATE",
                                             "--order=DESCEND", "--limit=1", "--write-out=fields"});
    auto const at = text.find("\"Lease\" : ") + 10;
    char hex[32];
    std::snprintf(hex, sizeof hex, "%llx", std::stoull(text.substr(at)));
    return hex;
  }
  // Some turns, for what nobody waits for.
  static void run(etcd_client& one) {
    int turns = 0;
    one.run_until([&] { return ++turns > 10; });
  }

  etcd_client first{server().url()};
  etcd_client second{server().url()};
  resource const stock{"stock/1"};
  resource const till{"till"};
  owner_token const alice = owner_token::generate();
  owner_token const bob = owner_token::generate();
  owner_token const carol = owner_token::generate();
};

// It is renewed before the news of its turn is read, which makes it the holder.
TEST_F(EtcdOwnerTest, AWaiterWhoseOwnerRenewsInTheMomentOfItsTurnIsGranted) {
  as<grant>(first.acquire(stock, alice));
  auto bobs = second.wait_for(stock, bob);
  ASSERT_TRUE(second.run_until([&] { return first.waiting(stock) == 1; }));
  // From here on nobody runs the second until the renewal has begun.
  ASSERT_EQ(first.release(stock, alice).value(), release_reply::released);
  ASSERT_EQ(second.renew(stock, bob).value(), renew_reply::renewed);
  auto const reply = second.get(bobs);
  ASSERT_TRUE(is<grant>(reply));
  EXPECT_GT(as<grant>(reply).validity->ttl, milliseconds{0});
  EXPECT_EQ(second.renew(stock, bob).value(), renew_reply::renewed);
  EXPECT_TRUE(is<busy>(first.acquire(stock, carol)));
  EXPECT_EQ(second.release(stock, bob).value(), release_reply::released);
  EXPECT_TRUE(is<grant>(first.acquire(stock, carol)));
}

// The second goes on with an idle lease of its own, of which an operator has ended all: they are
// left alone after the first, else they would use up its attempts.
TEST_F(EtcdOwnerTest, AWaiterAdoptsTheOwnersKeyAlthoughItsIdleLeasesWereRevoked) {
  constexpr int many = 5;
  auto const name = [](int i) { return resource("stock/idle/" + std::to_string(i)); };
  for (int i = 0; i < many; ++i) as<grant>(second.acquire(name(i), bob));
  for (int i = 0; i < many; ++i) {
    ASSERT_EQ(second.release(name(i), bob).value(), release_reply::released);
  }
  server().revoke_all_leases();
  auto const token = as<grant>(first.acquire(stock, alice)).fencing;
  auto goes_on = second.wait_for(stock, alice);
  EXPECT_EQ(as<grant>(second.get(goes_on)).fencing, token);
  EXPECT_EQ(second.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_TRUE(is<busy>(first.acquire(stock, carol)));
}

// The lease that its maker used again is not the second handle's to end.
TEST_F(EtcdOwnerTest, ALeaseThatItsMakerUsesAgainIsNotEndedByTheOther) {
  auto const token = as<grant>(first.acquire(stock, alice)).fencing;
  EXPECT_EQ(as<grant>(second.acquire(stock, alice)).fencing, token);
  EXPECT_EQ(first.release(stock, alice).value(), release_reply::released);
  as<grant>(first.acquire(till, bob));
  EXPECT_EQ(second.release(stock, alice).value(), release_reply::lost);
  second.close();
  EXPECT_TRUE(is<busy>(first.acquire(till, carol)));
  EXPECT_EQ(first.renew(till, bob).value(), renew_reply::renewed);
}

TEST_F(EtcdOwnerTest, WhatIsAcquiredAnewDoesNotHangOnALeaseThatTheOtherEnds) {
  as<grant>(first.acquire(stock, alice));
  as<grant>(second.acquire(stock, alice));
  EXPECT_EQ(first.release(stock, alice).value(), release_reply::released);
  as<grant>(second.acquire(stock, alice));
  first.close();
  EXPECT_TRUE(is<busy>(second.acquire(stock, bob)));
  EXPECT_EQ(second.renew(stock, alice).value(), renew_reply::renewed);
  EXPECT_EQ(second.release(stock, alice).value(), release_reply::released);
}

// The first one's count of its ttl ends no sooner than the second's term, nor does the second's
// shorter ttl end what the first one holds.
TEST_F(EtcdOwnerTest, NeitherEndsWhatTheOtherStillHolds) {
  as<grant>(first.acquire(stock, alice, 1min));
  auto const again = as<grant>(second.acquire(stock, alice, 300ms));
  ASSERT_TRUE(again.validity);
  EXPECT_LE(again.validity->ttl, 300ms);
  auto const end = clock::now() + 600ms;
  ASSERT_TRUE(second.run_until([&] { return clock::now() > end; }));
  EXPECT_TRUE(is<busy>(second.acquire(stock, bob)));
  EXPECT_EQ(first.renew(stock, alice, 1min).value(), renew_reply::renewed);
}

// A wait that was given up takes its place away by ending its lease. That may come late: after
// the owner has gone on with the place elsewhere.
TEST_F(EtcdOwnerTest, ARevocationThatComesLateDoesNotHitAKeyThatGoesOn) {
  relay path(server().port());
  etcd_client slow(through(path, "?timeout=60s"));
  as<grant>(first.acquire(stock, bob));
  auto given_up = slow.wait_for(stock, alice);
  ASSERT_TRUE(slow.run_until([&] { return first.waiting(stock) == 1; }));
  run(slow);
  auto const lease = youngest_lease();
  path.stop_forwarding();
  given_up.cancel();
  ASSERT_TRUE(slow.run_until([&] { return given_up.done(); }));
  run(slow);  // the revocation is on its way
  auto goes_on = second.wait_for(stock, alice);
  ASSERT_TRUE(second.run_until([&] { return youngest_lease() != lease; }));
  EXPECT_EQ(first.release(stock, bob).value(), release_reply::released);
  ASSERT_TRUE(is<grant>(second.get(goes_on)));
  path.resume_forwarding();
  ASSERT_TRUE(slow.run_until([&] { return !has_lease(lease); }));
  EXPECT_TRUE(is<busy>(first.acquire(stock, carol)));
  EXPECT_EQ(second.renew(stock, alice).value(), renew_reply::renewed);
}

// As many as may be under way: the oldest is forgotten.
TEST_F(EtcdOwnerTest, ReleasesWithoutAnAnswerAreRememberedInBoundedNumber) {
  constexpr std::size_t most = 3;
  etcd_client c(server().url() + "?max_pending=" + std::to_string(most));
  auto const name = [](std::size_t i) { return resource("stock/" + std::to_string(i)); };
  for (std::size_t i = 0; i < most + 1; ++i) {
    as<grant>(c.acquire(name(i), alice));
    auto unheard = c.start<release_reply>(
        [&](auto done) { c.store().leases->release(name(i), alice, std::move(done)); });
    unheard.cancel();
    ASSERT_TRUE(c.run_until([&] { return unheard.done() && !first.inspect(name(i)).value(); }));
    run(c);
  }
  EXPECT_EQ(c.release(name(0), alice).value(), release_reply::lost);
  for (std::size_t i = 1; i < most + 1; ++i) {
    EXPECT_EQ(c.release(name(i), alice).value(), release_reply::released) << i;
  }
}

}  // namespace
}  // namespace herdlock_test
