// When a process reports, and what.
#include "algo/fleet_teller.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace herdlock::algo {
namespace {

class FleetTeller : public ::testing::Test {
 protected:
  static clock::time_point at(int ms) { return clock::time_point(milliseconds(ms)); }

  static fleet_key reads(std::string key, std::uint64_t high) {
    return {std::move(key), high, high, 0, false};
  }
  static fleet_key hot(std::string key) { return {std::move(key), 1, 1, 0, true}; }
  auto say(std::vector<fleet_key> known, int ms, std::uint64_t uncounted = 0) {
    return teller.report(std::move(known), uncounted, {.least = 10, .processes = 1}, at(ms));
  }

  fleet_teller teller{77};
};

TEST_F(FleetTeller, WhoHasNothingToNameIsSilent) {
  EXPECT_FALSE(say({}, 0));
  EXPECT_FALSE(say({reads("k", 9)}, 5000));
}

TEST_F(FleetTeller, WhatMayHaveItsShareIsNamedAndTheRestIsBounded) {
  auto const said = say({reads("a", 10), reads("b", 9), reads("c", 500)}, 0, 4);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->process, 77u);
  EXPECT_EQ(said->number, 1u);
  EXPECT_EQ(said->keys, (std::vector{reads("c", 500), reads("a", 10)}));
  EXPECT_EQ(said->rest, 9u);
  EXPECT_EQ(say({reads("a", 10)}, 1000, 4)->rest, 4u);
}

TEST_F(FleetTeller, ItReportsEachSecondWhileThereIsSomething) {
  EXPECT_TRUE(say({reads("k", 10)}, 0));
  EXPECT_FALSE(say({reads("k", 10)}, 999));
  EXPECT_TRUE(say({reads("k", 10)}, 1000));
}

// Else the others would go by what was said until the process is taken for dead.
TEST_F(FleetTeller, ThatThereIsNothingAnyMoreIsSaidOnce) {
  EXPECT_TRUE(say({reads("k", 10)}, 0));
  auto const said = say({}, 1000);
  ASSERT_TRUE(said);
  EXPECT_TRUE(said->keys.empty());
  EXPECT_FALSE(say({}, 2000));
}

TEST_F(FleetTeller, AKeyThatHasBecomeHotIsToldOfAtOnceTenTimesASecondAtMost) {
  EXPECT_TRUE(say({hot("a")}, 0));
  EXPECT_FALSE(say({hot("a")}, 500)) << "nothing new";
  EXPECT_FALSE(say({hot("a"), hot("b")}, 99));
  EXPECT_TRUE(say({hot("a"), hot("b")}, 500));
  EXPECT_FALSE(say({hot("a"), hot("b"), hot("c")}, 599));
  EXPECT_TRUE(say({hot("a"), hot("b"), hot("c")}, 600));
}

TEST_F(FleetTeller, OtherReportsDoNotHoldUpThatAKeyHasBecomeHot) {
  EXPECT_TRUE(say({reads("a", 10)}, 0));
  EXPECT_TRUE(say({reads("a", 10), hot("b")}, 10));
  EXPECT_TRUE(say({reads("a", 10)}, 600)) << "it has cooled";
  EXPECT_TRUE(say({reads("a", 10), hot("c")}, 610));
  EXPECT_FALSE(say({reads("a", 10), hot("c"), hot("d")}, 709));
}

TEST_F(FleetTeller, TwelveReportsASecondAreTheMost) {
  int reports = 0;
  for (int ms = 0; ms < 10'000; ++ms) {
    bool const cools = ms % 3 == 0;
    if (say(cools ? std::vector<fleet_key>() : std::vector{hot(std::to_string(ms))}, ms)) ++reports;
  }
  EXPECT_LE(reports, 120 + 1);
}

TEST_F(FleetTeller, OneThatIsHotAgainIsToldOfAtOnce) {
  EXPECT_TRUE(say({hot("a")}, 0));
  EXPECT_TRUE(say({reads("a", 50)}, 1000));
  EXPECT_TRUE(say({hot("a")}, 1100));
}

// Else the others would keep it for as long again.
TEST_F(FleetTeller, AKeyThatHasCooledIsToldOfSoonAndOnce) {
  EXPECT_TRUE(say({hot("a"), hot("b")}, 0));
  EXPECT_FALSE(say({reads("a", 50), hot("b")}, 499));
  EXPECT_TRUE(say({reads("a", 50), hot("b")}, 500));
  EXPECT_FALSE(say({reads("a", 50), hot("b")}, 999));
  auto const said = say({}, 1000);
  ASSERT_TRUE(said) << "one that is not known any more";
  EXPECT_TRUE(said->keys.empty());
}

TEST_F(FleetTeller, HotKeysForWhichThereIsNoRoomAreNoNewsByTurns) {
  int reports = 0;
  for (int ms = 0; ms < 3000; ms += 100) {
    std::vector<fleet_key> known;
    for (std::uint64_t i = 0; i < 100; ++i) {
      auto const reads = 1000 + (i * 37 + std::uint64_t(ms) / 100 * 13) % 100;
      known.push_back({std::to_string(i), reads, reads, 0, true});
    }
    if (say(std::move(known), ms)) ++reports;
  }
  EXPECT_EQ(reports, 3) << "one each second";
}

TEST_F(FleetTeller, HotKeysComeFirstWhereThereIsNoRoomForAll) {
  std::vector<fleet_key> known;
  for (std::uint64_t i = 0; i < 100; ++i) known.push_back(reads(std::to_string(i), 100 + i));
  known.push_back(hot("hot"));
  auto const said = say(std::move(known), 0);
  ASSERT_TRUE(said);
  ASSERT_EQ(said->keys.size(), fleet_report::most_keys);
  EXPECT_EQ(said->keys.front().key, "hot");
  EXPECT_EQ(said->rest, 100u + 99 - 63) << "the most of those that are not named";
  EXPECT_TRUE(is_plausible(*said));
}

TEST_F(FleetTeller, WhatHasNoNameOfItsOwnIsNotNamed) {
  auto const said = say({hot("k"), reads(std::string(fleet_report::most_key_bytes, 'x'), 70)}, 0);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->keys.size(), 1u);
  EXPECT_EQ(said->rest, 70u);
}

TEST_F(FleetTeller, NumbersBeyondAllMeaningAreCut) {
  auto const most = std::numeric_limits<std::uint64_t>::max();
  auto const said = say({{"k", most, most, most, false}}, 0, most);
  ASSERT_TRUE(said);
  EXPECT_TRUE(is_plausible(*said));
}

// To a collector: the list of what is hot, and the pause that it says.
class FleetTellerToOne : public FleetTeller {
 protected:
  auto tell(std::vector<fleet_key> known, int ms) {
    return teller.report(std::move(known), 0, {.least = 10, .processes = 900, .list = &lists},
                         at(ms));
  }
  void listed(std::vector<std::string> const& keys, std::uint64_t pause_ms = 0, int ms = 0) {
    fleet_list list{.number = {1, ++counter}, .processes = 900, .pause_ms = pause_ms, .keys = {}};
    for (auto const& key : keys) list.keys.push_back({.key = key, .hot = true});
    lists.take(std::move(list), at(ms));
  }

  list_follower lists;
  std::uint64_t counter = 0;
};

TEST_F(FleetTellerToOne, AHotKeyIsToldOfAtOnceAlsoInALargeFleet) {
  EXPECT_TRUE(tell({reads("a", 10)}, 0));
  EXPECT_TRUE(tell({reads("a", 10), hot("b")}, 1));
  EXPECT_FALSE(tell({hot("b"), hot("c")}, 100));
  EXPECT_TRUE(tell({hot("b"), hot("c")}, 101));
}

// Hundreds find it at the same moment: the first ones are enough.
TEST_F(FleetTellerToOne, WhatTheListCallsHotAlreadyIsNoNews) {
  EXPECT_TRUE(tell({reads("a", 10)}, 0));
  listed({"b"});
  EXPECT_FALSE(tell({reads("a", 10), hot("b")}, 10));
  listed({});
  EXPECT_TRUE(tell({reads("a", 10), hot("b")}, 20)) << "it is not hot any more for others";
}

TEST_F(FleetTellerToOne, WhatWasListedIsNamedWithTheNextReportAndItsEndIsToldSoon) {
  listed({"b"});
  EXPECT_TRUE(tell({reads("a", 10)}, 0));
  EXPECT_FALSE(tell({hot("b")}, 999));
  EXPECT_TRUE(tell({hot("b")}, 1000));
  EXPECT_FALSE(tell({reads("b", 10)}, 1499));
  EXPECT_TRUE(tell({reads("b", 10)}, 1500));
}

TEST_F(FleetTellerToOne, ThePauseOfTheListMakesAllReportsMoreSeldom) {
  listed({}, 8000);
  int reports = 0;
  for (int ms = 0; ms < 800'000; ms += 100) {
    if (ms % 8000 == 0) listed({}, 8000, ms);
    bool const cools = ms % 300 == 0;
    auto known = cools ? std::vector{reads("a", 10)} : std::vector{hot(std::to_string(ms))};
    reports += tell(std::move(known), ms).has_value();
  }
  EXPECT_LE(reports, 2 * 100 + 30) << "one for each pause, and one of news";
  EXPECT_GE(reports, 70);
}

TEST_F(FleetTellerToOne, WithoutACollectorReportsBecomeSeldomAndNewsWait) {
  std::vector<int> said;
  for (int ms = 0; ms < 60'000; ms += 100) {
    if (tell({hot(std::to_string(ms))}, ms)) said.push_back(ms);
  }
  ASSERT_GT(said.size(), 5u);
  EXPECT_LE(said.size(), 14u);
  EXPECT_EQ(said.back() - said[said.size() - 2], 10'000);
  listed({}, 0, 60'000);
  EXPECT_TRUE(tell({hot("k")}, 60'000)) << "somebody hears it now";
  EXPECT_TRUE(tell({hot("k")}, 61'000));
}

TEST_F(FleetTellerToOne, ThoseWhoBeganTogetherDoNotGoOnTogether) {
  listed({}, 8000);
  std::vector<int> in_second(14, 0);
  for (std::uint64_t process = 1; process <= 280; ++process) {
    fleet_teller one(process * 0x9e3779b97f4a7c15);
    fleet_view const view{.least = 10, .processes = 280, .list = &lists};
    ASSERT_TRUE(one.report({reads("a", 10)}, 0, view, at(0)));
    int ms = 100;
    while (!one.report({reads("a", 10)}, 0, view, at(ms))) ms += 100;
    ++in_second.at(static_cast<std::size_t>(ms / 1000));
  }
  for (int const many : in_second) EXPECT_LT(many, 280 / 5);
}

}  // namespace
}  // namespace herdlock::algo
