// Who has room among the hot keys of a fleet, and what its collector takes over and tells.
#include "hot_fleet_fixture.hpp"

namespace herdlock::algo {
namespace {

TEST_F(HotFleet, AReportBeyondTheBoundInBytesIsRefusedAndOthersGoOn) {
  fleet_report const one{1, 1, 0, {reads("k", 1)}};
  auto bounded = thresholds();
  bounded.most_bytes = 2 * (encoded_bytes(one) + hot_fleet::bytes_around);
  hot_fleet some(bounded);
  EXPECT_EQ(some.hear(one, at(0)), fleet_hearing::news);
  EXPECT_EQ(some.hear({2, 1, 0, {reads("k", 2)}}, at(0)), fleet_hearing::news);
  EXPECT_EQ(some.bytes(), bounded.most_bytes);
  EXPECT_EQ(some.hear({3, 1, 0, {}}, at(0)), fleet_hearing::refused) << "one too many";
  EXPECT_EQ(some.hear({2, 2, 0, {reads("kk", 2)}}, at(0)), fleet_hearing::refused) << "grown";
  EXPECT_EQ(some.top(1).front().low, 3u) << "what it said before counts";
  EXPECT_EQ(some.hear({2, 3, 0, {reads("k", 5)}}, at(1)), fleet_hearing::news);
  EXPECT_EQ(some.top(1).front().low, 6u);
  some.advance(at(5000));
  EXPECT_EQ(some.hear({3, 2, 0, {}}, at(5000)), fleet_hearing::news) << "one has gone";
}

TEST_F(HotFleet, WhereThereIsNoRoomLeftANewcomerIsRefusedAndWhoIsKnownGoesOn) {
  fleet_report const one{1, 1, 0, {reads("k", 1)}};
  auto const bytes = encoded_bytes(one) + hot_fleet::bytes_around;
  EXPECT_EQ(fleet.hear(one, at(0), bytes - 1), fleet_hearing::refused);
  EXPECT_EQ(fleet.hear(one, at(0), bytes), fleet_hearing::news);
  EXPECT_EQ(fleet.hear({2, 1, 0, {reads("k", 1)}}, at(0), 0), fleet_hearing::refused);
  EXPECT_EQ(fleet.hear({1, 2, 0, {reads("k", 9)}}, at(0), 0), fleet_hearing::news);
  EXPECT_EQ(fleet.hear({1, 3, 0, {}}, at(0), 0), fleet_hearing::news);
}

TEST_F(HotFleet, AKeyIsAnnouncedOnceAndIfItMayBeHot) {
  auto const announces = [&](std::uint64_t process, std::uint64_t low) {
    return fleet.announces({process, 99, 0, {{"k", low, low, 0, true}}});
  };
  EXPECT_TRUE(announces(2, 500));
  hear(1, {reads("a", 1000), reads("b", 1000), reads("c", 1000)}, 0);
  fleet.advance(at(0));
  EXPECT_FALSE(announces(2, 500)) << "there is no room";
  EXPECT_TRUE(announces(2, 2000)) << "one makes room";
  hear(2, {{"k", 2000, 2000, 0, true}}, 10);
  EXPECT_FALSE(announces(2, 2000)) << "it has said so";
  EXPECT_TRUE(announces(3, 2000));
  hot_fleet calm(thresholds());
  calm.hear({1, 1, 0, {{"k", 500, 500, 0, true}}}, at(0));
  calm.advance(at(0));
  calm.hear({1, 2, 0, {{"k", 500, 500, 100, false}}}, at(1000));
  calm.advance(at(1000));
  EXPECT_FALSE(calm.announces({2, 1, 0, {{"k", 500, 500, 0, true}}})) << "it has to be calm";
}

TEST_F(HotFleet, NoMoreThanMostHotAreHot) {
  hear(1, {{"a", 1, 1, 0, true}, {"b", 1, 1, 0, true}, {"c", 1, 1, 0, true}, {"d", 1, 1, 0, true}},
       0);
  EXPECT_EQ(fleet.advance(at(0)).size(), 3u);
  hear(1, {{"d", 1, 1, 0, true}}, 1000);
  EXPECT_EQ(fleet.advance(at(1000)).size(), 4u) << "three have cooled, and there is room";
  EXPECT_TRUE(fleet.is_hot("d"));
}

// Not those whose names come first: names are for everybody to choose.
TEST_F(HotFleet, WhereThereIsNoRoomForAllThoseReadMostAreHot) {
  hear(1, {{"!a", 0, 0, 0, true}, {"!b", 1, 1, 0, true}, {"!c", 2, 2, 0, true}}, 0);
  hear(2, {{"y", 50, 50, 0, true}, {"z", 60, 60, 0, true}}, 0);
  EXPECT_EQ(fleet.advance(at(0)),
            (changes{{became_hot, "z"}, {became_hot, "y"}, {became_hot, "!c"}}));
}

// H7: what is hot keeps nothing hotter out.
TEST_F(HotFleet, WhereThereIsNoRoomTheLeastReadHotKeyMakesRoomForOneReadTwiceAsMuch) {
  hear(1, {reads("a", 1000), reads("b", 900), reads("c", 1100)}, 0);
  fleet.advance(at(0));
  hear(2, {reads("d", 1799)}, 10);
  EXPECT_EQ(fleet.advance(at(10)), changes{}) << "not clearly more";
  hear(2, {reads("d", 1800)}, 20);
  EXPECT_EQ(fleet.advance(at(20)), (changes{{cooled, "b"}, {became_hot, "d"}}));
  EXPECT_EQ(fleet.hot(), 3u);
}

TEST_F(HotFleet, TwoKeysDoNotComeAndGoByTurns) {
  std::size_t made = 0;
  for (int round = 0; round < 50; ++round) {
    std::uint64_t const more = round % 2 == 0 ? 1200 : 1000, less = 2200 - more;
    hear(1, {reads("a", 5000), reads("b", 5000), reads("c", more), reads("d", less)}, round * 100);
    made += fleet.advance(at(round * 100)).size();
  }
  EXPECT_EQ(made, 3u);
}

TEST_F(HotFleet, AHotKeyThatNobodyReadsAnyMoreMakesRoomAtOnce) {
  hear(1, {reads("a", 1000), reads("b", 1000), reads("c", 1000)}, 0);
  fleet.advance(at(0));
  hear(1, {reads("a", 1000), reads("b", 1000), reads("d", 800)}, 1000);
  EXPECT_EQ(fleet.advance(at(1000)), (changes{{cooled, "c"}, {became_hot, "d"}}));
}

TEST_F(HotFleet, WhatAnotherOneFoundHotStaysIfItIsReadHalfAsMuchAsItNeeds) {
  std::vector<fleet_sum> const found{{.key = "kept", .hot = true},
                                     {.key = "gone", .hot = true},
                                     {.key = "said", .hot = true},
                                     {.key = "cold", .hot = false}};
  fleet.take_over(found, at(0));
  hear(1, {reads("kept", 375), reads("cold", 375), {"said", 1, 1, 0, true}}, 500);
  EXPECT_EQ(fleet.advance(at(1000)), (changes{{cooled, "gone"}}));
  EXPECT_TRUE(fleet.is_hot("kept"));
  EXPECT_TRUE(fleet.is_hot("said"));
  EXPECT_FALSE(fleet.is_hot("cold"));
  hear(1, {reads("kept", 10)}, 2000);
  EXPECT_EQ(fleet.advance(at(2000)), (changes{{cooled, "said"}}));
  EXPECT_EQ(fleet.advance(at(4999)), changes{});
  EXPECT_EQ(fleet.advance(at(5000)), (changes{{cooled, "kept"}})) << "as any other";
}

TEST_F(HotFleet, AllKeysAreToldThoseThatAreHotFirst) {
  hear(1, {reads("a", 700), reads("b", 1000)}, 0);
  fleet.advance(at(0));
  hear(1, {reads("a", 700), reads("c", 20)}, 1000);
  fleet.advance(at(1000));
  std::vector<std::string> keys;
  for (auto const& one : fleet.hot_and_others()) keys.push_back(one.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"b", "a", "c"}));
}

}  // namespace
}  // namespace herdlock::algo
