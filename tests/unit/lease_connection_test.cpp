// Held leases and the store's new connection, over a store that answers only what the test says.
#include <gtest/gtest.h>

#include <vector>

#include "scripted_lock.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using LeaseConnection = herdlock::scripted::LockTest;

// Planned is a renewal in 20 minutes; the deadline of run_until() is far below that.
TEST_F(LeaseConnection, WhatIsHeldIsRenewedSoonAndAServerThatForgotItIsTheLoss) {
  auto lease = take({.ttl = 1h});
  EXPECT_TRUE(f.script->renews.empty());
  f.script->come_up_anew();
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  EXPECT_EQ(f.script->renews.front().owner, lease.owner());
  EXPECT_TRUE(lease.valid()) << "until the server has said so";
  f.script->renew_next(renew_reply::lost);
  f.settle();
  EXPECT_FALSE(lease.valid());
  EXPECT_TRUE(lease.lost_token().stop_requested());
}

TEST_F(LeaseConnection, AServerThatStillHasItChangesNothing) {
  auto lease = take({.ttl = 1h});
  f.script->come_up_anew();
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  f.script->renew_next(renew_reply::renewed);
  f.settle();
  EXPECT_TRUE(lease.valid());
  EXPECT_TRUE(f.script->renews.empty()) << "renewed once";
}

// One write over the new connection, and none for each lease.
TEST_F(LeaseConnection, AllLeasesOfAStoreAreRenewedInOneEvent) {
  std::vector<lease> held;
  for (int i = 0; i < 5; ++i) held.push_back(take({.ttl = 1h}));
  f.script->come_up_anew();
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  EXPECT_EQ(f.script->renews.size(), held.size());
}

TEST_F(LeaseConnection, AResultThatWasUnderWayDoesNotCount) {
  auto lease = take({.ttl = 1h});
  f.script->come_up_anew();
  ASSERT_TRUE(f.run_until([&] { return f.script->renews.size() == 1; }));
  f.script->come_up_anew();
  f.settle();
  f.script->renew_next(make_failure(errc::unavailable, "the connection was lost"));
  ASSERT_TRUE(f.run_until([&] { return f.script->renews.size() == 1; }));
  f.script->renew_next(renew_reply::lost);
  f.settle();
  EXPECT_FALSE(lease.valid());
}

TEST_F(LeaseConnection, WhatIsNotRenewedIsLeftAlone) {
  auto by_hand = take({.ttl = 1h, .renew = renewal::none});
  auto given_back = take({.ttl = 1h});
  given_back.async_release(herdlock_test::as_result([](result<release_reply>) {}));
  auto lease = take({.ttl = 1h});
  f.script->come_up_anew();
  ASSERT_TRUE(f.run_until([&] { return !f.script->renews.empty(); }));
  ASSERT_EQ(f.script->renews.size(), 1U);
  EXPECT_EQ(f.script->renews.front().owner, lease.owner());
}

}  // namespace
