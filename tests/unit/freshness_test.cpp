// Every decision of the freshness machine, with a clock and random numbers of the test's own.
#include "algo/freshness.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "key_records_fixture.hpp"

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

class Freshness : public ::testing::Test {
 protected:
  static clock::time_point at(milliseconds since_start) { return clock::time_point(since_start); }

  // Loaded at 0 within a second, stale after a minute, gone after two.
  static entry_times minute() {
    return {std::chrono::microseconds{1}, seconds(1), at(seconds(60)), at(seconds(120))};
  }

  static refresh_policy options() {
    refresh_policy o;
    o.early_refresh = 1;
    o.fail_safe = true;
    o.back_off = {milliseconds{1000}, milliseconds{8000}};
    return o;
  }
  static refresh_policy without_fail_safe() {
    refresh_policy o = options();
    o.fail_safe = false;
    return o;
  }
  static refresh_policy patient() {
    refresh_policy o = options();
    o.soft_timeout = milliseconds{100};
    return o;
  }

  static constexpr double surely_early = 1 - 1e-15;
  static constexpr double never_early = 0;

  entry_use stale_at(freshness_machine& m, milliseconds t) {
    return m.found("k", minute(), at(t), never_early);
  }

  // A refresh of the entry began, and failed.
  void fail_at(freshness_machine& m, milliseconds t, char const* key = "k") {
    EXPECT_EQ(m.found(key, minute(), at(t), surely_early), entry_use::serve_and_refresh);
    m.load_failed(key, at(t), 0.5);
    m.refresh_ended(key, m.refresh_id(), at(t));
  }

  alone<freshness_machine> machine{options()};
};

TEST_F(Freshness, AnEntryIsFreshThenStaleThenDead) {
  auto const of = [](milliseconds t) { return freshness_of(minute(), at(t), {}, 0.999); };
  EXPECT_EQ(of(milliseconds{0}), freshness::fresh);
  EXPECT_EQ(of(milliseconds{59'999}), freshness::fresh);
  EXPECT_EQ(of(milliseconds{60'000}), freshness::stale);
  EXPECT_EQ(of(milliseconds{119'999}), freshness::stale);
  EXPECT_EQ(of(milliseconds{120'000}), freshness::dead);
}

// now - beta * load_time * ln(U) >= expiry, with U = 1 - random.
TEST_F(Freshness, AnEarlyRefreshIsElectedAsXFetchSays) {
  for (double const beta : {0.5, 1.0, 3.0}) {
    double const head_start = 2.5;
    double const limit = std::exp(-head_start / beta);
    auto const of = [&](double u) {
      return freshness_of(minute(), at(milliseconds{57'500}), {beta}, 1 - u);
    };
    EXPECT_EQ(of(limit * 0.999), freshness::early) << beta;
    EXPECT_EQ(of(limit * 1.001), freshness::fresh) << beta;
  }
}

TEST_F(Freshness, AValueThatCostNothingIsNeverEarly) {
  auto times = minute();
  times.load_time = {};
  EXPECT_EQ(freshness_of(times, at(milliseconds{59'999}), {1}, surely_early), freshness::fresh);
}

// Of an entry that is not to end: whatever is drawn.
TEST_F(Freshness, AnEntryIsEarlyForItsLeastHeadStart) {
  auto const of = [](milliseconds t) {
    return freshness_of(minute(), at(t), {.beta = 0, .least = seconds(2)}, never_early);
  };
  EXPECT_EQ(of(milliseconds{57'999}), freshness::fresh);
  EXPECT_EQ(of(milliseconds{58'000}), freshness::early);
  alone<freshness_machine> without_draw{refresh_policy()};
  EXPECT_EQ(without_draw.found("k", minute(), at(milliseconds{57'999}), never_early, {seconds(2)}),
            entry_use::serve);
  EXPECT_EQ(without_draw.found("k", minute(), at(seconds(58)), never_early, {seconds(2)}),
            entry_use::serve_and_refresh);
}

TEST_F(Freshness, ASafeHeadStartIsATenthOfTheTtlOrTwoLoads) {
  EXPECT_EQ(safe_head_start(seconds(10), {}), seconds(1));
  EXPECT_EQ(safe_head_start(seconds(10), seconds(1)), seconds(2));
  EXPECT_EQ(safe_head_start(seconds(10), seconds(9)), seconds(5)) << "half of the ttl at most";
  EXPECT_EQ(safe_head_start(std::chrono::hours(24), {}), seconds(60));
}

TEST_F(Freshness, AStaleEntryIsServedAndOneRefreshesBehindIt) {
  EXPECT_EQ(stale_at(machine, seconds(60)), entry_use::serve_and_refresh);
  EXPECT_EQ(stale_at(machine, seconds(60)), entry_use::serve);
  EXPECT_EQ(stale_at(machine, seconds(119)), entry_use::serve);
  EXPECT_EQ(machine.found("other", minute(), at(seconds(60)), never_early),
            entry_use::serve_and_refresh)
      << "another key is another matter";
  EXPECT_EQ(stale_at(machine, seconds(120)), entry_use::load) << "dead";
}

TEST_F(Freshness, OneRefreshPerKeyIsUnderWayHoweverManyAreElected) {
  int refreshes = 0;
  for (int i = 0; i < 100; ++i) {
    auto const use = machine.found("k", minute(), at(seconds(30)), surely_early);
    refreshes += use == entry_use::serve_and_refresh;
  }
  EXPECT_EQ(refreshes, 1);
}

TEST_F(Freshness, AfterARefreshThatAnotherHasTheNextWaitsForTheBusyPause) {
  EXPECT_EQ(stale_at(machine, seconds(60)), entry_use::serve_and_refresh);
  machine.refresh_ended("k", machine.refresh_id(), at(milliseconds{60'010}));
  EXPECT_EQ(stale_at(machine, milliseconds{60'059}), entry_use::serve);
  EXPECT_EQ(stale_at(machine, milliseconds{60'060}), entry_use::serve_and_refresh);
}

TEST_F(Freshness, WithASoftTimeoutCallersOfAStaleEntryWaitAndThoseOfAnEarlyOneDoNot) {
  alone<freshness_machine> m(patient());
  EXPECT_EQ(stale_at(m, seconds(60)), entry_use::wait_softly);
  EXPECT_EQ(stale_at(m, seconds(60)), entry_use::wait_softly) << "each of them";
  EXPECT_EQ(m.found("k", minute(), at(seconds(30)), surely_early), entry_use::serve_and_refresh);
}

// ---------------------------------------------------------------------------------- failures

TEST_F(Freshness, WhileLoadsFailTheStaleValueIsServedAndNobodyLoads) {
  EXPECT_EQ(stale_at(machine, seconds(60)), entry_use::serve_and_refresh);
  EXPECT_EQ(machine.load_failed("k", at(seconds(61)), 0.5), seconds(1));
  machine.refresh_ended("k", machine.refresh_id(), at(seconds(61)));
  EXPECT_EQ(stale_at(machine, milliseconds{61'999}), entry_use::serve);
  EXPECT_EQ(stale_at(machine, seconds(62)), entry_use::serve_and_refresh);
}

TEST_F(Freshness, WithoutFailSafeTheErrorOfTheLoadIsTheAnswerOfItsBackOff) {
  alone<freshness_machine> m(without_fail_safe());
  fail_at(m, seconds(61));
  EXPECT_EQ(stale_at(m, milliseconds{61'500}), entry_use::load);
  EXPECT_EQ(stale_at(m, seconds(62)), entry_use::serve_and_refresh);
}

TEST_F(Freshness, AnEarlyRefreshThatFailedLeavesTheFreshEntryServedAndIsNotTriedAtOnce) {
  EXPECT_EQ(machine.found("k", minute(), at(seconds(30)), surely_early),
            entry_use::serve_and_refresh);
  machine.load_failed("k", at(seconds(31)), 0.5);
  machine.refresh_ended("k", machine.refresh_id(), at(seconds(31)));
  EXPECT_EQ(machine.found("k", minute(), at(milliseconds{31'500}), never_early), entry_use::serve);
  EXPECT_EQ(machine.failures("k"), 1u) << "the entry is older than the failure";
  EXPECT_EQ(machine.found("k", minute(), at(milliseconds{31'500}), surely_early), entry_use::serve);
  EXPECT_EQ(machine.found("k", minute(), at(seconds(32)), surely_early),
            entry_use::serve_and_refresh);
}

TEST_F(Freshness, BackOffDoublesToItsCapAndVariesByATenth) {
  failure_back_off const limits{milliseconds{1000}, milliseconds{8000}};
  for (auto const& [failures, base] : {std::pair(1U, 1000),
                                       {2U, 2000},
                                       {3U, 4000},
                                       {4U, 8000},
                                       {5U, 8000},
                                       {4'000'000'000U, 8000}}) {
    EXPECT_EQ(back_off_after(limits, failures, 0.5), milliseconds(base)) << failures;
    EXPECT_EQ(back_off_after(limits, failures, 0), milliseconds(base * 9 / 10)) << failures;
    EXPECT_LE(back_off_after(limits, failures, 0.999), milliseconds(base * 11 / 10)) << failures;
  }
  failure_back_off const constant{milliseconds{1000}, milliseconds{1000}};
  EXPECT_EQ(back_off_after(constant, 7, 0.9), milliseconds{1000}) << "no growth, no jitter";
  EXPECT_EQ(back_off_after({milliseconds{0}, milliseconds{0}}, 7, 0.9), milliseconds{0});
}

TEST_F(Freshness, BackOffGrowsWithFailuresInARowAndASuccessClearsIt) {
  clock::time_point now = at(seconds(61));
  for (int const base : {1, 2, 4, 8, 8}) {
    EXPECT_EQ(machine.load_failed("k", now, 0.5), seconds(base));
    now += seconds(base);
  }
  machine.load_succeeded("k");
  EXPECT_EQ(machine.failures("k"), 0u);
  EXPECT_EQ(machine.load_failed("k", now, 0.5), seconds(1));
}

TEST_F(Freshness, AnotherEntryAfterTheFailureIsASuccessOfSomebodyElse) {
  fail_at(machine, seconds(61));
  machine.load_failed("k", at(seconds(62)), 0.5);
  auto newer = minute();
  newer.made += seconds(63);
  newer.expires += seconds(63);
  newer.ends += seconds(63);
  machine.found("k", newer, at(seconds(64)), never_early);
  EXPECT_EQ(machine.failures("k"), 0u);
  EXPECT_EQ(machine.keys(), 0u) << "and nothing is kept of it";
}

// By the clocks of two processes the entry may be a little younger than the failure.
TEST_F(Freshness, TheEntryThatWasThereIsNoSuccessWhateverTheClocksSay) {
  alone<freshness_machine> m(patient());
  auto const copy = m.keep("k", minute(), at(seconds(60)));
  m.told_of_failure("k", 1, at(seconds(60)), at(seconds(70)));
  EXPECT_TRUE(m.wait_over("k", copy, wait_end::error));
  EXPECT_EQ(stale_at(m, seconds(61)), entry_use::serve) << "it is known that loads fail";
  EXPECT_EQ(m.failures("k"), 1u);
}

TEST_F(Freshness, WhatOthersSayOfTheirFailuresCountsAsOurs) {
  EXPECT_EQ(stale_at(machine, seconds(60)), entry_use::serve_and_refresh);
  machine.told_of_failure("k", 3, at(seconds(61)), at(seconds(65)));
  machine.refresh_ended("k", machine.refresh_id(), at(seconds(61)));
  EXPECT_EQ(stale_at(machine, milliseconds{64'999}), entry_use::serve);
  EXPECT_EQ(stale_at(machine, seconds(65)), entry_use::serve_and_refresh);
  EXPECT_EQ(machine.load_failed("k", at(seconds(66)), 0.5), seconds(8)) << "the fourth in a row";
  machine.told_of_failure("k", 1, at(seconds(70)), at(seconds(71)));
  EXPECT_EQ(machine.failures("k"), 4u) << "an older word is not the last one";
}

// ------------------------------------------------------------------------- expire, invalidate

TEST_F(Freshness, ExpireEndsTheRefreshUnderWaySoThatTheNextBeginsAtOnce) {
  EXPECT_EQ(stale_at(machine, seconds(60)), entry_use::serve_and_refresh);
  auto const old = machine.refresh_id();
  machine.expired("k");
  EXPECT_EQ(stale_at(machine, seconds(60)), entry_use::serve_and_refresh);
  machine.refresh_ended("k", old, at(seconds(61)));
  EXPECT_EQ(stale_at(machine, seconds(62)), entry_use::serve)
      << "the end of the old refresh is not that of the new one";
}

TEST_F(Freshness, ExpireAndInvalidateEndABackOff) {
  fail_at(machine, seconds(61));
  machine.expired("k");
  EXPECT_EQ(stale_at(machine, milliseconds{61'001}), entry_use::serve_and_refresh);
  machine.refresh_ended("k", machine.refresh_id(), at(milliseconds{61'001}));
  machine.load_failed("k", at(milliseconds{61'001}), 0.5);
  machine.invalidated("k");
  EXPECT_EQ(stale_at(machine, milliseconds{61'002}), entry_use::serve_and_refresh);
}

TEST_F(Freshness, AStaleCopyIsTheAnswerAfterTheSoftTimeoutAndInsteadOfAnError) {
  alone<freshness_machine> m(patient());
  auto const copy = m.keep("k", minute(), at(seconds(60)));
  EXPECT_TRUE(m.wait_over("k", copy, wait_end::soft_timeout));
  EXPECT_TRUE(m.wait_over("k", m.keep("k", minute(), at(seconds(60))), wait_end::error));
  EXPECT_FALSE(m.wait_over("k", m.keep("k", minute(), at(seconds(60))), wait_end::value));
  EXPECT_EQ(m.keys(), 0u);
}

TEST_F(Freshness, WithoutFailSafeTheErrorOfTheLoadBeatsTheStaleCopy) {
  alone<freshness_machine> m(without_fail_safe());
  EXPECT_FALSE(m.wait_over("k", m.keep("k", minute(), at(seconds(60))), wait_end::error));
  EXPECT_TRUE(m.wait_over("k", m.keep("k", minute(), at(seconds(60))), wait_end::soft_timeout));
}

// Invalidate beats fail-safe, expire does not.
TEST_F(Freshness, AStaleCopyIsNotServedAfterInvalidateAndIsAfterExpire) {
  alone<freshness_machine> m(patient());
  auto const before = m.keep("k", minute(), at(seconds(60)));
  auto const other = m.keep("k", minute(), at(seconds(60)));
  m.expired("k");
  EXPECT_TRUE(m.wait_over("k", other, wait_end::error));
  m.invalidated("k");
  auto const after = m.keep("k", minute(), at(seconds(61)));
  EXPECT_FALSE(m.wait_over("k", before, wait_end::error));
  EXPECT_TRUE(m.wait_over("k", after, wait_end::soft_timeout)) << "read after the invalidate";
}

// -------------------------------------------------------------------------------------- bounds

TEST_F(Freshness, FreshKeysCostNothing) {
  for (int i = 0; i < 1000; ++i) {
    machine.found(std::to_string(i), minute(), at(seconds(1)), never_early);
  }
  EXPECT_EQ(machine.keys(), 0u);
}

TEST_F(Freshness, AtTheLimitNoFurtherRefreshBeginsAndOldKeysMakeRoom) {
  alone<freshness_machine> m(options(), 2);
  auto const begin = [&](char const* key) {
    return m.found(key, minute(), at(seconds(60)), never_early);
  };
  EXPECT_EQ(begin("a"), entry_use::serve_and_refresh);
  auto const of_a = m.refresh_id();
  EXPECT_EQ(begin("b"), entry_use::serve_and_refresh);
  EXPECT_EQ(begin("c"), entry_use::serve) << "limit + 1";
  EXPECT_EQ(m.load_failed("c", at(seconds(60)), 0.5), seconds(1))
      << "the first, and not remembered";
  EXPECT_FALSE(m.wait_over("c", m.keep("c", minute(), at(seconds(60))), wait_end::soft_timeout));
  m.refresh_ended("a", of_a, at(seconds(59)));
  EXPECT_EQ(begin("c"), entry_use::serve_and_refresh);
  EXPECT_EQ(m.keys(), 2u);
}

// The database is down, and no two keys are the same.
TEST_F(Freshness, AtTheLimitTheOldestFailureMakesRoomForTheNewest) {
  constexpr std::size_t most = 1000, more = 500;
  alone<freshness_machine> m(options(), most);
  auto const name = [](std::size_t i) { return "a name of " + std::to_string(100'000 + i); };
  auto const known = [&] {
    std::size_t count = 0;
    for (std::size_t i = 0; i < most + more; ++i) count += m.failures(name(i));
    return count;
  };
  for (std::size_t i = 0; i < most; ++i) m.load_failed(name(i), at(seconds(60)), 0.5);
  auto const all = known();
  EXPECT_EQ(all, most);
  for (std::size_t i = most; i < most + more; ++i) m.load_failed(name(i), at(seconds(60)), 0.5);
  EXPECT_EQ(known(), all) << "as many as before";
  EXPECT_EQ(m.failures(name(0)), 0u);
  EXPECT_EQ(m.failures(name(most + more - 1)), 1u);
}

// What the database gets then: one load of the key more, not one for each call.
TEST_F(Freshness, AKeyWhoseFailureWasForgottenIsLoadedOnceMore) {
  alone<freshness_machine> m(options(), 1);
  auto const now = seconds(60);
  fail_at(m, now, "failing");
  EXPECT_EQ(m.found("failing", minute(), at(now), never_early), entry_use::serve) << "nobody loads";
  m.load_failed("another", at(now), 0.5);
  EXPECT_EQ(m.found("failing", minute(), at(now), never_early), entry_use::serve_and_refresh);
  EXPECT_EQ(m.found("failing", minute(), at(now), never_early), entry_use::serve);
  m.load_failed("failing", at(now), 0.5);
  m.refresh_ended("failing", m.refresh_id(), at(now));
  EXPECT_EQ(m.found("failing", minute(), at(now), never_early), entry_use::serve);
}

// Nobody waits for the schedule: it refreshes, or leaves it.
TEST_F(Freshness, TheScheduleRefreshesWhatIsStaleUnlessItFailedOrIsUnderWay) {
  for (auto const& how : {options(), without_fail_safe(), patient()}) {
    alone<freshness_machine> m(how);
    auto const use_at = [&](milliseconds t) { return m.found_by_schedule("k", minute(), at(t)); };
    EXPECT_EQ(use_at(milliseconds{59'999}), entry_use::serve);
    EXPECT_EQ(use_at(seconds(60)), entry_use::serve_and_refresh);
    EXPECT_EQ(use_at(seconds(61)), entry_use::serve) << "it is under way";
    m.load_failed("k", at(seconds(62)), 0.5);
    m.refresh_ended("k", m.refresh_id(), at(seconds(62)));
    EXPECT_EQ(use_at(milliseconds{62'999}), entry_use::serve);
    EXPECT_EQ(use_at(seconds(63)), entry_use::serve_and_refresh);
  }
}

}  // namespace
}  // namespace herdlock::algo
