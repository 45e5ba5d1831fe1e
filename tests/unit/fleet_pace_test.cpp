// What a server sends of reports has a bound, whatever the number of processes.
#include "algo/fleet_pace.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "algo/fleet_teller.hpp"
#include "algo/hot_fleet.hpp"

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

clock::time_point at(int ms) { return clock::time_point(milliseconds(ms)); }

fleet_key reads(std::string key, std::uint64_t often) {
  return {std::move(key), often, often, 0, false};
}

/// As many keys as a report has room for, of 20 bytes each.
std::vector<fleet_key> many_keys() {
  std::vector<fleet_key> all;
  for (std::size_t i = 0; i < fleet_report::most_keys; ++i) {
    auto const number = std::to_string(100 + i);
    all.push_back(reads("product:000000000" + number, 1000));
  }
  return all;
}

TEST(FleetPace, GrowsWithTheSquareOfTheProcessesAndWithTheBytes) {
  EXPECT_EQ(fleet_pace::pause(64, 4000), seconds(1)) << "4096 with what stands around it";
  EXPECT_EQ(fleet_pace::pause(128, 4000), seconds(4));
  EXPECT_EQ(fleet_pace::pause(64, 8096), seconds(2));
  EXPECT_LT(fleet_pace::pause(10, 4000), milliseconds(25)) << "a small fleet does not feel it";
}

TEST(FleetPace, APauseIsHalfOfThatToThreeHalves) {
  EXPECT_EQ(fleet_pace::pause(64, 4000, 0.0), milliseconds(500));
  EXPECT_EQ(fleet_pace::pause(64, 4000, 0.5), seconds(1));
  EXPECT_LT(fleet_pace::pause(64, 4000, 0.999), milliseconds(1500));
}

TEST(FleetPace, OfTheLargestFleetNothingOverflows) {
  auto const most = fleet_thresholds().most_bytes / hot_fleet::bytes_around;
  auto const longest = fleet_pace::silence(most, 20'000, seconds(5));
  EXPECT_GT(longest, std::chrono::hours(10'000));
  EXPECT_LT(longest, std::chrono::hours(1'000'000));
}

// Each of them says all it can at each moment at which it may: hot keys come and go.
void expect_bounded(std::uint64_t processes) {
  constexpr int ms_of_test = 100'000;
  std::uint64_t sent = 0;
  for (std::uint64_t process = 1; process <= processes; ++process) {
    fleet_teller teller(process * 0x9e3779b97f4a7c15);
    for (int ms = 0; ms < ms_of_test; ms += 100) {
      auto known = many_keys();
      known[0].hot = ms / 100 % 2 == 0;
      fleet_view const view{1, static_cast<std::size_t>(processes)};
      if (auto const said = teller.report(std::move(known), 0, view, at(ms))) {
        sent += processes * (encoded_bytes(*said) + fleet_pace::bytes_around);
      }
    }
  }
  auto const bound = fleet_pace::most_bytes_a_second * (ms_of_test / 1000);
  auto const first_round = processes * processes * 4096;
  EXPECT_LE(sent, bound + bound / 10 + first_round) << processes << " processes";
}

TEST(FleetPace, AllReportsTogetherStayBelowTheBound) {
  expect_bounded(60);
  expect_bounded(120);
}

TEST(FleetPace, ThoseWhoBeganTogetherDoNotGoOnTogether) {
  constexpr int processes = 300;
  constexpr int ms_of_slot = 1000;
  std::vector<int> in_slot(40, 0);
  for (std::uint64_t process = 1; process <= processes; ++process) {
    fleet_teller teller(process * 0x9e3779b97f4a7c15);
    fleet_view const view{1, processes};
    ASSERT_TRUE(teller.report(many_keys(), 0, view, at(0)));
    for (int ms = 100; ms < 40'000; ms += 100) {
      if (!teller.report(many_keys(), 0, view, at(ms))) continue;
      ++in_slot[static_cast<std::size_t>(ms / ms_of_slot)];
      break;
    }
  }
  for (int const many : in_slot) EXPECT_LT(many, processes / 8);
}

TEST(FleetPace, AKeyThatHasBecomeHotWaitsForThePauseOfALargeFleet) {
  fleet_teller teller(77);
  fleet_view const view{1, 300};
  ASSERT_TRUE(teller.report(many_keys(), 0, view, at(0)));
  auto const with_news = [] {
    auto known = many_keys();
    known[5].hot = true;
    return known;
  };
  EXPECT_FALSE(teller.report(with_news(), 0, view, at(5'000)));
  EXPECT_TRUE(teller.report(with_news(), 0, view, at(40'000)));
}

// Else all are taken for gone between two reports, and begin to report as if they were few.
TEST(FleetPace, WhoReportsSeldomSinceTheFleetIsLargeIsNotTakenForGone) {
  hot_fleet fleet({.threshold = 1000});
  for (std::uint64_t process = 1; process <= 300; ++process) {
    fleet.hear({process, 1, 0, many_keys()}, at(0));
  }
  fleet.advance(at(40'000));
  EXPECT_EQ(fleet.processes(), 300u);
  fleet.advance(at(100'000));
  EXPECT_EQ(fleet.processes(), 0u) << "four pauses of 20 s";
}

TEST(FleetPace, ASmallFleetForgetsWhoIsSilentForTheShortestTime) {
  hot_fleet fleet({.threshold = 1000});
  for (std::uint64_t process = 1; process <= 10; ++process) {
    fleet.hear({process, 1, 0, many_keys()}, at(0));
  }
  fleet.advance(at(4'999));
  EXPECT_EQ(fleet.processes(), 10u);
  fleet.advance(at(5'000));
  EXPECT_EQ(fleet.processes(), 0u);
}

}  // namespace
}  // namespace herdlock::algo
