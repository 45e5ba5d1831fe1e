// What the reports of all processes come to, with times of the test's own.
#include <random>

#include "hot_fleet_fixture.hpp"

namespace herdlock::algo {
namespace {

TEST_F(HotFleet, WhatOneSaysIsHotIsHotForAll) {
  hear(1, {{"k", 5, 5, 0, true}}, 0);
  EXPECT_EQ(fleet.advance(at(0)), (changes{{became_hot, "k"}}));
  EXPECT_TRUE(fleet.is_hot("k"));
  EXPECT_EQ(fleet.advance(at(10)), changes{}) << "once";
}

TEST_F(HotFleet, HowManyKeepAKeyIsCountedAndForHowLongAtMost) {
  hear(1, {{"k", 5, 5, 0, true, 2'000}}, 0);
  hear(2, {{"k", 5, 5, 0, false, 7'000}}, 0);
  hear(3, {{"k", 5, 5, 0, false}}, 0);
  EXPECT_EQ(sum_of("k").kept_by, 2u);
  EXPECT_EQ(sum_of("k").kept_ms, 7'000u);
}

TEST_F(HotFleet, WhatAllReadTogetherAtTheThresholdIsHot) {
  hear(1, {reads("k", 500)}, 0);
  hear(2, {reads("k", 249)}, 0);
  EXPECT_EQ(fleet.advance(at(0)), changes{}) << "less than three quarters are told of";
  hear(3, {reads("k", 1)}, 0);
  EXPECT_EQ(fleet.advance(at(0)), (changes{{became_hot, "k"}}));
}

TEST_F(HotFleet, WhatMayBeReadOftenIsNotHot) {
  hear(1, {reads("k", 10, 5000)}, 0);
  EXPECT_EQ(fleet.advance(at(0)), changes{});
}

TEST_F(HotFleet, WhatAllTogetherWriteTooOftenIsNotHot) {
  hear(1, {{"k", 1000, 1000, 25, false}}, 0);
  hear(2, {{"k", 0, 0, 26, false}}, 0);
  EXPECT_EQ(fleet.advance(at(0)), changes{});
}

// H7
TEST_F(HotFleet, SumsAreBoundsThatHoldAlsoForThoseWhoDoNotNameTheKey) {
  hear(1, {reads("k", 100, 120)}, 0, 30);
  hear(2, {reads("k", 200, 220)}, 0, 40);
  hear(3, {reads("other", 50)}, 0, 50);
  auto const sum = sum_of("k");
  EXPECT_EQ(sum.low, 300u);
  EXPECT_EQ(sum.high, 120u + 220 + 50);
  EXPECT_EQ(sum.processes, 2u);
  EXPECT_EQ(sum_of("other").high, 50u + 30 + 40);
}

TEST_F(HotFleet, OfAProcessTheNewestReportCountsAndOnce) {
  auto const first = fleet_report{1, 1, 0, {reads("k", 100)}};
  auto const second = fleet_report{1, 2, 0, {reads("k", 300)}};
  EXPECT_EQ(fleet.hear(second, at(0)), fleet_hearing::news);
  EXPECT_EQ(fleet.hear(second, at(1)), fleet_hearing::old) << "doubled";
  EXPECT_EQ(fleet.hear(first, at(2)), fleet_hearing::old) << "late";
  EXPECT_EQ(sum_of("k").low, 300u);
}

// An old report is no sign of life.
TEST_F(HotFleet, AProcessThatSaysNothingNewAgesOut) {
  auto const only = fleet_report{1, 1, 0, {reads("k", 100)}};
  fleet.hear(only, at(0));
  fleet.hear(only, at(4000));
  fleet.advance(at(4999));
  EXPECT_EQ(fleet.processes(), 1u);
  fleet.advance(at(5000));
  EXPECT_EQ(fleet.processes(), 0u);
  EXPECT_EQ(sum_of("k").low, 0u);
}

TEST_F(HotFleet, WhatIsNotPlausibleIsRefused) {
  EXPECT_EQ(hear(1, {{"k", 2, 1, 0, false}}, 0), fleet_hearing::refused);
  EXPECT_EQ(fleet.processes(), 0u);
}

// H2: hysteresis.
TEST_F(HotFleet, AHotKeyCoolsWhenItWasBelowHalfForLongEnough) {
  hear(1, {reads("k", 1000)}, 0);
  fleet.advance(at(0));
  hear(1, {reads("k", 375)}, 1000);
  EXPECT_EQ(fleet.advance(at(1000)), changes{});
  EXPECT_EQ(fleet.advance(at(4500)), changes{}) << "half is enough";
  hear(1, {reads("k", 374)}, 5000);
  EXPECT_EQ(fleet.advance(at(5000)), changes{});
  EXPECT_EQ(fleet.advance(at(7999)), changes{});
  EXPECT_EQ(fleet.advance(at(8000)), (changes{{cooled, "k"}}));
  EXPECT_FALSE(fleet.is_hot("k"));
}

TEST_F(HotFleet, OneThatIsReadAgainMeanwhileStays) {
  hear(1, {reads("k", 1000)}, 0);
  fleet.advance(at(0));
  hear(1, {reads("k", 100)}, 1000);
  fleet.advance(at(1000));
  fleet.advance(at(2500));
  hear(1, {reads("k", 600)}, 3000);
  fleet.advance(at(3000));
  hear(1, {reads("k", 100)}, 4000);
  EXPECT_EQ(fleet.advance(at(4000)), changes{});
  EXPECT_EQ(fleet.advance(at(6999)), changes{});
  EXPECT_EQ(fleet.advance(at(7000)), (changes{{cooled, "k"}}));
}

TEST_F(HotFleet, AHotKeyThatIsWrittenTooOftenCools) {
  hear(1, {{"k", 1000, 1000, 50, false}}, 0);
  fleet.advance(at(0));
  hear(1, {{"k", 1000, 1000, 101, false}}, 1000);
  fleet.advance(at(1000));
  EXPECT_EQ(fleet.advance(at(4000)), (changes{{cooled, "k"}}));
}

TEST_F(HotFleet, WhatWasHotInAProcessThatDiedCools) {
  hear(1, {{"k", 2000, 2000, 0, true}}, 0);
  fleet.advance(at(0));
  EXPECT_EQ(fleet.advance(at(5000)), changes{});
  EXPECT_EQ(fleet.advance(at(8000)), (changes{{cooled, "k"}}));
}

// It has waited before it says so: the fleet does not wait once more.
TEST_F(HotFleet, WhatAProcessDoesNotCallHotAnyMoreCoolsAtOnce) {
  hear(1, {{"k", 400, 400, 0, true}}, 0);
  fleet.advance(at(0));
  hear(1, {reads("k", 10)}, 1000);
  EXPECT_EQ(fleet.advance(at(1000)), (changes{{cooled, "k"}}));
}

TEST_F(HotFleet, TheTimeOfLowSumsRunsBesideThatOfTheProcess) {
  hear(1, {{"k", 2000, 2000, 0, true}}, 0);
  fleet.advance(at(0));
  hear(1, {{"k", 10, 10, 0, true}}, 1000);
  fleet.advance(at(1000));
  hear(1, {reads("k", 10)}, 4000);
  EXPECT_EQ(fleet.advance(at(4000)), (changes{{cooled, "k"}}));
}

// H5: once a key is kept everywhere, everybody sees every write.
TEST_F(HotFleet, TheWritesOfAHotKeyAreCountedOnce) {
  hear(1, {{"k", 500, 500, 20, false}}, 0);
  hear(2, {{"k", 500, 500, 0, false}}, 0);
  ASSERT_EQ(fleet.advance(at(0)), (changes{{became_hot, "k"}}));
  for (std::uint64_t process : {1, 2, 3, 4, 5, 6}) {
    hear(process, {{"k", 150, 150, 20, false}}, 1000);
  }
  fleet.advance(at(1000));
  EXPECT_EQ(fleet.advance(at(4500)), changes{});
  EXPECT_EQ(sum_of("k").writes, 20u);
}

// Others write it, and only who keeps it sees that.
TEST_F(HotFleet, WhatIsWrittenWheneverItIsKeptComesBackMoreAndMoreSeldom) {
  int became_hot_times = 0;
  for (int second = 0; second < 800; ++second) {
    std::uint64_t const writes = fleet.is_hot("k") ? 200 : 0;
    hear(1, {{"k", 1000, 1000, writes, false}}, second * 1000);
    for (auto const& change : fleet.advance(at(second * 1000))) {
      became_hot_times += change.what == became_hot;
    }
  }
  EXPECT_GE(became_hot_times, 5) << "it may have become calm";
  EXPECT_LE(became_hot_times, 9);
}

// It has counts of its own, by which it keeps the key itself.
TEST_F(HotFleet, WhoAnnouncesAKeyThatWasJustWrittenTooOftenIsNotFollowed) {
  hear(1, {{"k", 500, 500, 0, true}}, 0);
  ASSERT_EQ(fleet.advance(at(0)), (changes{{became_hot, "k"}}));
  hear(1, {{"k", 500, 500, 100, false}}, 1000);
  ASSERT_EQ(fleet.advance(at(1000)), (changes{{cooled, "k"}}));
  hear(2, {{"k", 500, 500, 0, true}}, 2000);
  EXPECT_EQ(fleet.advance(at(2000)), changes{});
  hear(2, {{"k", 500, 500, 0, true}}, 6500);
  EXPECT_EQ(fleet.advance(at(6999)), changes{});
  EXPECT_EQ(fleet.advance(at(7000)), (changes{{became_hot, "k"}}));
}

TEST_F(HotFleet, AKeyThatWasCalmForLongIsJudgedAnew) {
  int second = 0;
  auto const hot_for = [&](int time, std::uint64_t writes) {
    int hot = 0;
    for (int i = 0; i < time; ++i, ++second) {
      hear(1, {{"k", 1000, 1000, writes, false}}, second * 1000);
      fleet.advance(at(second * 1000));
      hot += fleet.is_hot("k");
    }
    return hot;
  };
  hot_for(1, 0);
  hot_for(5, 200);
  EXPECT_FALSE(fleet.is_hot("k"));
  hot_for(7, 0);
  EXPECT_TRUE(fleet.is_hot("k")) << "six seconds have passed";
  hot_for(5, 200);
  EXPECT_EQ(hot_for(7, 0), 0) << "twelve have to";
  hot_for(100, 0);
  hot_for(5, 200);
  EXPECT_GT(hot_for(7, 0), 0);
}

// A burst with a tail, again and again: it cools by its reads.
TEST_F(HotFleet, AKeyThatIsReadLessIsNotHeldBackForItsFewWrites) {
  int second = 0;
  for (int burst = 0; burst < 6; ++burst) {
    hear(1, {{"k", 2000, 2000, 0, false}}, second * 1000);
    fleet.advance(at(second * 1000));
    EXPECT_TRUE(fleet.is_hot("k")) << burst;
    for (int tail = 0; tail < 8; ++tail) {
      ++second;
      hear(1, {{"k", 15, 15, 2, false}}, second * 1000);
      fleet.advance(at(second * 1000));
    }
    EXPECT_FALSE(fleet.is_hot("k"));
    ++second;
  }
}

TEST_F(HotFleet, WritesOfLongAgoAreForgotten) {
  auto const cool_by_writes = [&](int second) {
    hear(1, {reads("k", 1000)}, second * 1000);
    fleet.advance(at(second * 1000));
    EXPECT_TRUE(fleet.is_hot("k")) << second;
    for (int i = 1; i <= 4; ++i) {
      hear(1, {{"k", 1000, 1000, 200, false}}, (second + i) * 1000);
      fleet.advance(at((second + i) * 1000));
    }
    EXPECT_FALSE(fleet.is_hot("k")) << second;
  };
  cool_by_writes(0);    // calm until 10
  cool_by_writes(10);   // until 26
  cool_by_writes(100);  // until 110, and not 128
  hear(1, {reads("k", 1000)}, 111'000);
  EXPECT_EQ(fleet.advance(at(111'000)), (changes{{became_hot, "k"}}));
}

// A process that has come later keeps it, and is told of every write.
TEST_F(HotFleet, WhereItIsNotHotTheWritesThatKeepersAreToldOfCountOnce) {
  for (std::uint64_t process : {1, 2, 3, 4, 5}) {
    hear(process, {{"k", 200, 200, 20, false, 1000}}, 0);
  }
  EXPECT_EQ(fleet.advance(at(0)), (changes{{became_hot, "k"}}));
  EXPECT_EQ(sum_of("k").writes, 20u);
}

TEST_F(HotFleet, TheKeysThatHaveToBeCalmHaveABound) {
  for (int round = 0; round < 100; ++round) {
    auto const key = std::to_string(round);
    hear(1, {{key, 500, 500, 0, true}}, round * 10);
    EXPECT_EQ(fleet.advance(at(round * 10)), (changes{{became_hot, key}}));
    hear(1, {{key, 500, 500, 100, false}}, round * 10 + 5);
    EXPECT_EQ(fleet.advance(at(round * 10 + 5)), (changes{{cooled, key}}));
  }
  // The last ones are held back, the first ones forgotten.
  hear(1, {{"99", 500, 500, 0, true}, {"0", 500, 500, 0, true}}, 2000);
  EXPECT_EQ(fleet.advance(at(2000)), (changes{{became_hot, "0"}}));
}

// However its reads are spread over the processes, of which nobody has said anything before.
TEST_F(HotFleet, AKeyAtTheThresholdIsHotByWhatHasToBeNamed) {
  std::mt19937 dice(1);
  for (int round = 0; round < 1000; ++round) {
    hot_fleet some(thresholds());
    auto const processes = 1 + dice() % 25;
    std::vector<std::uint64_t> share(processes, 0);
    for (int i = 0; i < 1000; ++i) ++share[dice() % (1 + dice() % processes)];
    for (std::uint64_t p = 0; p < processes; ++p) {
      if (share[p] >= some.least_to_name()) some.hear({p, 1, 0, {reads("k", share[p])}}, at(0));
    }
    EXPECT_EQ(some.advance(at(0)), (changes{{became_hot, "k"}}));
  }
}

TEST_F(HotFleet, AHundredProcessesThatReadItAlikeFindAKeyAtTheThreshold) {
  for (std::uint64_t p = 0; p < 100; ++p) {
    ASSERT_LE(fleet.least_to_name(), 10u);
    hear(p, {reads("k", 10)}, 0);
  }
  EXPECT_EQ(fleet.advance(at(0)), (changes{{became_hot, "k"}}));
}

TEST_F(HotFleet, InALargeFleetItIsNamedByThoseWhoReadItLess) {
  for (std::uint64_t p = 0; p < 50; ++p) hear(p, {reads("other", 10)}, 0);
  EXPECT_EQ(fleet.least_to_name(), 5u);
  EXPECT_EQ(hot_fleet({.threshold = 1}).least_to_name(), 1u);
}

TEST_F(HotFleet, TopHasThoseThatAreReadMost) {
  hear(1, {reads("a", 5), reads("b", 7), reads("c", 6)}, 0);
  auto const top = fleet.top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].key, "b");
  EXPECT_EQ(top[1].key, "c");
}

}  // namespace
}  // namespace herdlock::algo
