// Each transition of the lease machine, on a clock that only the test moves.
#include "algo/lease_machine.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <set>

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using algo::lease_action;
using algo::lease_machine;
using algo::lease_state;
using algo::loss;
using kind = lease_action::kind;

constexpr clock::time_point t0{1000s};
constexpr double no_jitter = 0.5;

lease_machine machine_with(algo::lease_limits limits) {
  return lease_machine(limits, {t0, limits.ttl}, no_jitter);
}

TEST(LeaseMachine, ValidityIsCountedFromBeforeTheRequestLessTheDriftMargin) {
  auto machine = machine_with({.ttl = 10s});
  EXPECT_EQ(machine.valid_until(), t0 + 10s - 100ms - 2ms);
}

TEST(LeaseMachine, WaitsForAThirdOfTheTtlAndThenRenews) {
  auto machine = machine_with({.ttl = 30s});
  auto const first = machine.tick(t0);
  EXPECT_EQ(first.what, kind::wait);
  EXPECT_EQ(first.at, t0 + 10s);
  EXPECT_EQ(machine.tick(t0 + 9s).what, kind::wait);
  EXPECT_EQ(machine.tick(t0 + 10s).what, kind::renew);
  EXPECT_EQ(machine.state(), lease_state::renewing);
}

TEST(LeaseMachine, ARenewalMovesTheEndByWhatItsSendingProves) {
  auto machine = machine_with({.ttl = 30s});
  machine.tick(t0 + 10s);
  auto const next = machine.renewed(t0 + 12s, no_jitter);
  EXPECT_EQ(machine.valid_until(), algo::proved_until(t0 + 10s, 30s));
  EXPECT_EQ(next.at, t0 + 20s);
}

TEST(LeaseMachine, ARenewalByHandIsSentAtOnceAlsoWhereNoneIsPlanned) {
  auto machine = machine_with({.ttl = 30s, .renews = false});
  EXPECT_EQ(machine.renew_now(t0 + 1s).what, kind::renew);
  EXPECT_EQ(machine.renew_now(t0 + 2s).what, kind::wait) << "one is under way";
  auto const next = machine.renewed(t0 + 3s, no_jitter);
  EXPECT_EQ(machine.valid_until(), algo::proved_until(t0 + 1s, 30s));
  EXPECT_EQ(next.what, kind::wait);
  EXPECT_GT(next.at, t0 + 30s) << "not renewed by itself: it waits for the loss";
}

TEST(LeaseMachine, ARenewalByHandComesToNothingAfterTheEnd) {
  auto machine = machine_with({.ttl = 30s, .max_hold = 20s, .renews = false});
  EXPECT_FALSE(machine.held_too_long(t0 + 19s));
  EXPECT_TRUE(machine.held_too_long(t0 + 20s));
  EXPECT_EQ(machine.renew_now(t0 + 20s).what, kind::wait) << "max_hold is over";
  EXPECT_EQ(machine.renew_now(t0 + 30s).what, kind::lose);
  EXPECT_EQ(machine.renew_now(t0 + 31s).what, kind::none);
}

TEST(LeaseMachine, AShortFirstTermIsRenewedInItsFirstThird) {
  lease_machine machine({.ttl = 30s}, {t0, 2s}, no_jitter);
  EXPECT_EQ(machine.valid_until(), t0 + 2s - 20ms - 2ms);
  auto const first = machine.tick(t0);
  EXPECT_EQ(first.what, kind::wait);
  EXPECT_GE(first.at, t0 + 666ms);
  EXPECT_LE(first.at, t0 + 667ms + 100ms);
  EXPECT_EQ(machine.tick(first.at).what, kind::renew);
  machine.renewed(first.at + 1ms, no_jitter);
  EXPECT_EQ(machine.valid_until(), algo::proved_until(first.at, 30s));
}

TEST(LeaseMachine, AShortFirstTermOfALongTtlIsRenewedInTime) {
  for (auto const ttl : {milliseconds(10min), milliseconds(1h), milliseconds(24h)}) {
    for (int i = 0; i < 100; ++i) {
      auto const taken = t0 + i * 37ms;
      lease_machine machine({.ttl = ttl}, {taken, 2s}, i / 100.0);
      EXPECT_EQ(machine.tick(machine.tick(taken).at).what, kind::renew) << ttl.count();
    }
  }
}

TEST(LeaseMachine, AFailedRenewalOfAShortFirstTermIsTriedAgainWithinIt) {
  lease_machine machine({.ttl = 30s}, {t0, 2s}, no_jitter);
  auto const first = machine.tick(t0);
  machine.tick(first.at);
  auto const again = machine.renew_failed(first.at + 10ms, no_jitter);
  EXPECT_EQ(again.what, kind::wait);
  EXPECT_LT(again.at, first.at + 100ms);
}

// Ten thousand leases must not mean ten thousand writes.
TEST(LeaseMachine, RenewalsThatFallDueTogetherLeaveTogether) {
  std::set<clock::time_point> times;
  for (int i = 0; i < 1000; ++i) {
    auto const taken = t0 + i * 10us;
    lease_machine machine({.ttl = 30s}, {taken, 30s}, i / 1000.0);
    times.insert(machine.tick(taken).at);
  }
  EXPECT_LE(times.size(), 22U);  // 2 s of jitter in ticks of 100 ms
  EXPECT_GE(times.size(), 18U);
}

// B1: a renewal that hangs must not keep the holder in the dark.
TEST(LeaseMachine, AHangingRenewalIsLostJustBeforeTheEndOfTheProvedTime) {
  auto machine = machine_with({.ttl = 30s});
  auto const renew = machine.tick(t0 + 10s);
  EXPECT_EQ(renew.at, machine.valid_until() - algo::loss_lead(30s));
  EXPECT_EQ(machine.tick(renew.at).what, kind::lose);
  EXPECT_EQ(machine.why(), loss::expired);
}

TEST(LeaseMachine, TheLossIsPlannedAheadOfTheEndWhateverTheTtl) {
  EXPECT_EQ(algo::loss_lead(10ms), 1ms);
  EXPECT_EQ(algo::loss_lead(50ms), 5ms);
  EXPECT_EQ(algo::loss_lead(500ms), 5ms);
  EXPECT_EQ(algo::loss_lead(2s), 20ms);
  EXPECT_EQ(algo::loss_lead(limits::max_ttl), 100ms);
  for (auto const ttl :
       {limits::min_ttl, milliseconds(100ms), milliseconds(30s), limits::max_ttl}) {
    auto machine = machine_with({.ttl = ttl});
    auto const renew = machine.tick(machine.tick(t0).at);
    ASSERT_EQ(renew.what, kind::renew) << ttl.count();
    EXPECT_LT(renew.at, machine.valid_until()) << ttl.count();
  }
}

TEST(LeaseMachine, TheLossMarginBringsTheSignalForward) {
  auto machine = machine_with({.ttl = 30s, .loss_margin = 5s});
  machine.tick(t0 + 10s);
  EXPECT_EQ(machine.tick(machine.valid_until() - 5s - 1ns).what, kind::wait);
  EXPECT_EQ(machine.tick(machine.valid_until() - 5s).what, kind::lose);
}

// B2: an error must not end the renewing.
TEST(LeaseMachine, AFailedRenewalIsTriedAgainWhileThereIsTime) {
  auto machine = machine_with({.ttl = 30s});
  int tries = 0;
  auto action = machine.tick(t0);
  while (action.what != kind::lose) {
    auto const now = action.at;
    action = machine.tick(now);
    if (action.what == kind::renew) {
      ++tries;
      action = machine.renew_failed(now + 1ms, no_jitter);
    }
  }
  EXPECT_GE(tries, 5);
  EXPECT_LE(tries, 20);
}

TEST(LeaseMachine, AnErrorDoesNotMoveTheEnd) {
  auto machine = machine_with({.ttl = 30s});
  auto const end = machine.valid_until();
  machine.tick(t0 + 10s);
  machine.renew_failed(t0 + 11s, no_jitter);
  EXPECT_EQ(machine.valid_until(), end);
}

TEST(LeaseMachine, ToldLostIsLostAtOnce) {
  auto machine = machine_with({.ttl = 30s});
  machine.tick(t0 + 10s);
  EXPECT_EQ(machine.told_lost().what, kind::lose);
  EXPECT_EQ(machine.why(), loss::told);
}

// B4: the answer to a renewal that arrives after the end is no proof.
TEST(LeaseMachine, ARenewalAnsweredAfterTheEndDoesNotReviveTheLease) {
  auto machine = machine_with({.ttl = 30s});
  machine.tick(t0 + 10s);
  EXPECT_EQ(machine.renewed(t0 + 31s, no_jitter).what, kind::lose);
  EXPECT_EQ(machine.state(), lease_state::lost);
  EXPECT_EQ(machine.renewed(t0 + 32s, no_jitter).what, kind::none);
  EXPECT_EQ(machine.state(), lease_state::lost);
}

// B3: the renewing must not outlive the release.
TEST(LeaseMachine, AfterAReleaseNothingIsDoneAnyMore) {
  auto machine = machine_with({.ttl = 30s});
  machine.tick(t0 + 10s);
  machine.release(t0 + 11s);
  EXPECT_EQ(machine.renewed(t0 + 11s, no_jitter).what, kind::none);
  EXPECT_EQ(machine.tick(t0 + 20s).what, kind::none);
  EXPECT_EQ(machine.told_lost().what, kind::none);
  EXPECT_EQ(machine.state(), lease_state::released);
}

TEST(LeaseMachine, AReleaseAfterTheEndReportsLost) {
  auto machine = machine_with({.ttl = 30s});
  EXPECT_EQ(machine.release(t0 + 30s).what, kind::lose);
  EXPECT_EQ(machine.state(), lease_state::lost);
}

TEST(LeaseMachine, HungWorkIsNotRenewedForEver) {
  auto machine = machine_with({.ttl = 30s, .max_hold = 15s});
  EXPECT_EQ(machine.tick(t0 + 10s).what, kind::renew);
  auto const action = machine.renewed(t0 + 10s, no_jitter);
  EXPECT_EQ(action.what, kind::wait);
  EXPECT_EQ(action.at, machine.valid_until() - algo::loss_lead(30s));
  EXPECT_EQ(machine.tick(action.at).what, kind::lose);
  EXPECT_EQ(machine.why(), loss::held_too_long);
}

TEST(LeaseMachine, WithoutRenewalItEndsByItself) {
  auto machine = machine_with({.ttl = 30s, .renews = false});
  auto const action = machine.tick(t0 + 10s);
  EXPECT_EQ(action.what, kind::wait);
  EXPECT_EQ(action.at, machine.valid_until() - algo::loss_lead(30s));
  EXPECT_EQ(machine.tick(action.at).what, kind::lose);
  EXPECT_EQ(machine.why(), loss::expired);
}

// Whatever happens in whatever order: the end never lies beyond what the last answered request
// proves, and lost or released is for ever.
RC_GTEST_PROP(LeaseMachine, NeverProvesMoreThanItsLastAnsweredRequest, ()) {
  auto const ttl = milliseconds(*rc::gen::inRange(10, 100'000));
  auto machine = machine_with({.ttl = ttl});
  auto now = t0;
  auto sent = t0;
  auto proved = algo::proved_until(t0, ttl);
  bool over = false;
  for (int step = 0; step < 40; ++step) {
    now += std::chrono::microseconds(*rc::gen::inRange<long>(0, ttl.count() * 300));
    double const random = *rc::gen::inRange(0, 100) / 100.0;
    lease_action action;
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        action = machine.tick(now);
        if (action.what == kind::renew) sent = now;
        break;
      case 1:
        if (machine.state() != lease_state::renewing) continue;
        action = machine.renewed(now, random);
        if (!over && machine.state() != lease_state::lost) {
          proved = std::max(proved, algo::proved_until(sent, ttl));
        }
        if (action.what == kind::renew) sent = now;
        break;
      default:
        if (machine.state() != lease_state::renewing) continue;
        action = machine.renew_failed(now, random);
        if (action.what == kind::renew) sent = now;
    }
    RC_ASSERT(machine.valid_until() <= proved);
    if (over) RC_ASSERT(action.what == kind::none);
    over = over || action.what == kind::lose;
    if (action.what == kind::wait) RC_ASSERT(action.at > now || action.at <= proved);
    if (now >= proved) RC_ASSERT(machine.state() == lease_state::lost);
  }
}

}  // namespace
