// `herdlock-lab freshness`: its judge, and what it refuses. The fleets themselves are soaks.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "lab_command.hpp"
#include "scenes/freshness.hpp"
#include "stage/shared.hpp"

namespace {

using namespace herdlock_test;
using namespace herdlock::lab;
using herdlock::milliseconds;

// A run of each case in which all was kept.
class FreshnessJudge : public ::testing::Test {
 protected:
  FreshnessJudge() { seen_->ended = how_.processes; }

  void play_claim() {
    // Ten generations of 400 ms between the first and the last, which do not count.
    seen_->generation = 11;
    for (std::size_t i = 0; i <= 11; ++i) seen_->begun[i] = i == 0 ? 4 : 1;
    seen_->head_starts_ns = 10 * ms(100);
    seen_->first_fill = ms(1);
    seen_->last_fill = ms(4001);
  }
  void play_outage() {
    how_.what = "outage";
    seen_->first_failed = ms(1000);
    seen_->fails_until = ms(6000);
    seen_->failed_loads = 5;
    seen_->recovered = ms(7000);
  }
  void play_full() {
    how_.what = "full";
    seen_->refused = true;
    seen_->loads_of_missing = 40;
    seen_->loads_of_cached = 20;
    seen_->least_gap_ns = ms(250);
    seen_->room_from = ms(5000);
    seen_->first_filled = ms(5100);
  }

  static std::int64_t ms(int count) { return in_ns(milliseconds(count)); }
  std::string broken() {
    return broken_of([&](judge& by) { judge_fleet(how_, *seen_, by); });
  }

  freshness::terms how_;
  shared<freshness::board> seen_;
};

TEST_F(FreshnessJudge, TwoLoadsInAGeneration) {
  play_claim();
  EXPECT_EQ(broken(), "");
  seen_->begun[4] = 2;
  seen_->begun[5] = 0;
  EXPECT_EQ(broken(), "more than one load began in a generation");
}

TEST_F(FreshnessJudge, MoreLoadsThanTheHeadStartMakesOfTheTime) {
  play_claim();
  seen_->last_fill = ms(3901);
  EXPECT_EQ(broken(), "not as many loads as the head start makes of the time");
}

TEST_F(FreshnessJudge, FewerLoadsThanTheHeadStartMakesOfTheTime) {
  play_claim();
  seen_->last_fill = ms(4101);
  EXPECT_EQ(broken(), "not as many loads as the head start makes of the time");
}

TEST_F(FreshnessJudge, AloneIsNotJudgedByItsLoadsNorByWhoWaited) {
  play_claim();
  how_.what = "alone";
  seen_->begun[4] = 7;
  seen_->waited = 3;
  EXPECT_EQ(broken(), "");
}

TEST_F(FreshnessJudge, TheFirstGenerationIsTheHerdAndTheLastIsNotOver) {
  play_claim();
  seen_->begun[0] = 40;
  seen_->begun[11] = 2;
  freshness::generations const all(how_, *seen_);
  EXPECT_EQ(all.count, 10u);
  EXPECT_EQ(all.loads, 10u);
  EXPECT_DOUBLE_EQ(all.head_start_ms, 100);
  EXPECT_DOUBLE_EQ(all.beside_head_start, 1);
}

TEST_F(FreshnessJudge, ALoadMoreOrLessThanTheBackOffMakes) {
  play_outage();
  EXPECT_EQ(freshness::loads_by_back_off(how_, *seen_), 5) << "at 0, 270, 790, 1810 and 3830 ms";
  for (unsigned const kept : {4u, 5u, 6u}) {
    seen_->failed_loads = kept;
    EXPECT_EQ(broken(), "");
  }
  for (unsigned const other : {3u, 7u}) {
    seen_->failed_loads = other;
    EXPECT_EQ(broken(), "the loads of the outage are not those of the back-off");
  }
}

TEST_F(FreshnessJudge, ALateRecoveryOrNone) {
  play_outage();
  seen_->recovered = seen_->fails_until + ms(2200 + 20 + 2000);
  EXPECT_EQ(broken(), "");
  seen_->recovered += 1;
  EXPECT_EQ(broken(), "not recovered within one back-off");
  seen_->recovered = 0;
  EXPECT_EQ(broken(), "nothing was loaded again behind the outage");
}

TEST_F(FreshnessJudge, AFullStoreThatStores) {
  play_full();
  EXPECT_EQ(broken(), "");
  seen_->refused = false;
  EXPECT_EQ(broken(), "the full store has stored something");
}

TEST_F(FreshnessJudge, NoLoadOfWhatIsMissing) {
  play_full();
  seen_->loads_of_missing = 0;
  EXPECT_EQ(broken(), "nothing that was missing was loaded");
}

TEST_F(FreshnessJudge, AnErrorForAMissingKey) {
  play_full();
  seen_->errors_of_missing = 1;
  EXPECT_EQ(broken(), "a call for a missing key had an error");
}

TEST_F(FreshnessJudge, AMissingKeyThatIsLoadedAgainTooSoon) {
  play_full();
  seen_->least_gap_ns = 0;
  EXPECT_EQ(broken(), "") << "none was loaded twice";
  seen_->least_gap_ns = ms(250) - 1;
  EXPECT_EQ(broken(), "a missing key was loaded twice within 250 ms in one process");
}

TEST_F(FreshnessJudge, MoreLoadsOfCachedKeysThanWereUnderWay) {
  play_full();
  seen_->loads_of_cached = 21;
  EXPECT_EQ(broken(), "more loads of cached keys than refreshes can have been under way");
}

TEST_F(FreshnessJudge, ALateFillOrNone) {
  play_full();
  seen_->first_filled = ms(8000);
  EXPECT_EQ(broken(), "");
  for (std::int64_t const late : {ms(8000) + 1, ms(0)}) {
    seen_->first_filled = late;
    EXPECT_EQ(broken(), "fills did not resume within a second");
  }
}

TEST_F(FreshnessJudge, WhatHoldsForEachCase) {
  play_claim();
  play_outage();
  play_full();
  for (auto const* const what : {"claim", "outage", "full"}) {
    how_.what = what;
    seen_->waited = 1;
    EXPECT_EQ(broken(), "a call waited for a load") << what;
    seen_->waited = 0;
    seen_->ended = how_.processes - 1;
    EXPECT_EQ(broken(), "a process has not told its figures") << what;
    seen_->ended = how_.processes;
    seen_->errors = 1;
    EXPECT_EQ(broken(), "a call had an error") << what;
    seen_->errors = 0;
  }
  how_.what = "alone";
  seen_->ended = 0;
  seen_->errors = 1;
  EXPECT_EQ(broken(), "a process has not told its figures\na call had an error");
}

TEST(Freshness, WhatIsOutOfRangeIsRefused) {
  EXPECT_EQ(run_lab({"freshness", "--case", "other"}).code, 64);
  EXPECT_EQ(run_lab({"freshness", "--generations", "100000"}).code, 64);
  EXPECT_EQ(run_lab({"freshness", "--processes", "0"}).code, 64);
  EXPECT_EQ(run_lab({"freshness", "--load", "50"}).code, 64) << "a time has a unit";
}

}  // namespace
