// The lease machine when its store has a new connection, on a clock that only the test moves.
#include <gtest/gtest.h>

#include "algo/lease_machine.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using algo::lease_action;
using algo::lease_machine;

constexpr clock::time_point granted_at{1000s};
constexpr double evenly = 0.5;

lease_machine lease_with(algo::lease_limits limits) {
  return lease_machine(limits, {granted_at, limits.ttl}, evenly);
}

// A server that was restarted empty, or another one behind the same name: the holder learns it long
// before its planned renewal.
TEST(LeaseRenewBy, ANewConnectionBringsTheRenewalForward) {
  auto machine = lease_with({.ttl = 60s});
  auto const next = machine.renew_by(granted_at + 1s);
  EXPECT_EQ(next.what, lease_action::kind::wait);
  EXPECT_EQ(next.at, granted_at + 1s);
  EXPECT_EQ(machine.tick(granted_at + 1s).what, lease_action::kind::renew);
  EXPECT_EQ(machine.renewed(granted_at + 2s, evenly).at, granted_at + 21s) << "then as before";
}

TEST(LeaseRenewBy, ANewConnectionPutsNoRenewalOff) {
  auto machine = lease_with({.ttl = 60s});
  EXPECT_EQ(machine.renew_by(granted_at + 30s).at, granted_at + 20s);
  machine.renew_by(granted_at + 2s);
  EXPECT_EQ(machine.renew_by(granted_at + 3s).at, granted_at + 2s) << "nor do later news";
}

TEST(LeaseRenewBy, WhatIsUnderWayDoesNotCountForANewConnection) {
  for (bool const answered : {true, false}) {
    auto machine = lease_with({.ttl = 60s});
    EXPECT_EQ(machine.tick(granted_at + 20s).what, lease_action::kind::renew);
    EXPECT_EQ(machine.renew_by(granted_at + 20s + 100ms).what, lease_action::kind::wait)
        << "one is under way";
    auto const now = granted_at + 20s + 10ms;
    auto const next = answered ? machine.renewed(now, evenly) : machine.renew_failed(now, evenly);
    EXPECT_EQ(next.what, lease_action::kind::wait);
    EXPECT_EQ(next.at, granted_at + 20s + 100ms);
    EXPECT_EQ(machine.tick(next.at).what, lease_action::kind::renew);
    auto const later = machine.renewed(next.at, evenly);
    EXPECT_EQ(later.what, lease_action::kind::wait) << "once";
    EXPECT_GE(later.at, next.at + 20s);
  }
}

// A server that was started a moment ago refuses everything for a while, and may have forgotten.
TEST(LeaseRenewBy, ALookWithoutAnAnswerIsRepeatedSoonAndThenLater) {
  auto machine = lease_with({.ttl = 1h});
  auto now = granted_at + 1s;
  machine.renew_by(now);
  for (auto const pause : {1s, 2s, 4s, 8s}) {
    ASSERT_EQ(machine.tick(now).what, lease_action::kind::renew);
    machine.renew_by(now + 1min);  // a connection that comes and goes
    auto const next = machine.renew_failed(now, evenly);
    EXPECT_EQ(next.at, now + pause);
    now = next.at;
  }
  ASSERT_EQ(machine.tick(now).what, lease_action::kind::renew);
  auto const planned = machine.renewed(now, evenly).at;
  EXPECT_GE(planned, now + 20min);
  ASSERT_EQ(machine.tick(planned).what, lease_action::kind::renew);
  EXPECT_EQ(machine.renew_failed(planned, evenly).at, planned + 37500ms) << "then as before";
}

TEST(LeaseRenewBy, ALookWithoutAnAnswerIsRepeatedNoLaterThanARenewal) {
  auto machine = lease_with({.ttl = 3s});
  machine.renew_by(granted_at);
  ASSERT_EQ(machine.tick(granted_at).what, lease_action::kind::renew);
  EXPECT_EQ(machine.renew_failed(granted_at, evenly).at, granted_at + 31ms);
}

TEST(LeaseRenewBy, LooksThatFailForeverAreNotRepeatedWithoutAPause) {
  auto machine = lease_with({.ttl = 24h});
  auto now = granted_at;
  for (int failed = 0; failed < 200; ++failed) {
    machine.renew_by(now);  // the connection comes up, and its server refuses
    ASSERT_EQ(machine.tick(now).what, lease_action::kind::renew);
    auto const next = machine.renew_failed(now, evenly);
    ASSERT_EQ(next.what, lease_action::kind::wait) << "at once, after " << failed;
    ASSERT_GE(next.at, now + 1s) << "after " << failed;
    now += 10s;
  }
}

TEST(LeaseRenewBy, ANewConnectionRenewsNothingThatIsNotRenewed) {
  auto by_hand = lease_with({.ttl = 60s, .renews = false});
  EXPECT_GT(by_hand.renew_by(granted_at + 1s).at, granted_at + 59s) << "it waits for the loss";
  EXPECT_EQ(by_hand.tick(granted_at + 1s).what, lease_action::kind::wait);
  auto held_long = lease_with({.ttl = 60s, .max_hold = 10s});
  EXPECT_GT(held_long.renew_by(granted_at + 11s).at, granted_at + 59s);
  EXPECT_EQ(held_long.tick(granted_at + 11s).what, lease_action::kind::wait);
  auto given_back = lease_with({.ttl = 60s});
  given_back.release(granted_at + 1s);
  EXPECT_EQ(given_back.renew_by(granted_at + 2s).what, lease_action::kind::none);
}

// Whoever hears of a new connection walks over all leases: none of them may go meanwhile.
TEST(LeaseRenewBy, ANewConnectionItselfNeitherRenewsNorLoses) {
  auto machine = lease_with({.ttl = 60s});
  EXPECT_EQ(machine.renew_by(granted_at).what, lease_action::kind::wait);
  auto late = lease_with({.ttl = 60s});
  auto const next = late.renew_by(granted_at + 70s);
  EXPECT_EQ(next.what, lease_action::kind::wait);
  EXPECT_EQ(late.tick(granted_at + 70s).what, lease_action::kind::lose);
}

TEST(LeaseRenewBy, ANewConnectionIsFollowedWithinATenthOfTheTtlAndASecond) {
  EXPECT_EQ(algo::new_connection_window(3s), 300ms);
  EXPECT_EQ(algo::new_connection_window(1h), 1s);
  EXPECT_EQ(algo::new_connection_window(milliseconds::max()), 1s) << "of no lease";
}

}  // namespace
