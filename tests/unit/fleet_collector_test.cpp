// What the elected process publishes, and when.
#include "algo/fleet_collector.hpp"

#include <gtest/gtest.h>

#include <string>

namespace herdlock::algo {
namespace {

using std::chrono::seconds;

class FleetCollector : public ::testing::Test {
 protected:
  static constexpr int listens_ms = 1200;  // an interval, and a tick of those who report

  static fleet_thresholds thresholds() {
    return {.threshold = 1000,
            .reads_per_write = 20,
            .cool_time = seconds(3),
            .silence = seconds(5),
            .most_hot = 3};
  }
  static clock::time_point at(int ms) { return clock::time_point(milliseconds(ms)); }
  static fleet_key reads(std::string key, std::uint64_t low) {
    return {std::move(key), low, low, 0, false};
  }
  static fleet_key hot(std::string key) { return {std::move(key), 5, 5, 0, true}; }

  fleet_hearing hear(std::uint64_t process, std::vector<fleet_key> keys, int ms) {
    return collector.heard({process, ++number, 0, std::move(keys)}, at(ms));
  }
  /// Elected long ago, so that only what is heard counts.
  void begin(fleet_list const& before = {}) { collector.began(7, before, at(-listens_ms)); }
  auto list(int ms) { return collector.advance(at(ms)); }
  static std::vector<std::string> hot_in(std::optional<fleet_list> const& list) {
    std::vector<std::string> keys;
    if (!list) return {"(no list)"};
    for (auto const& one : list->keys) {
      if (one.hot) keys.push_back(one.key);
    }
    return keys;
  }
  using names = std::vector<std::string>;

  fleet_collector collector{thresholds()};
  std::uint64_t number = 0;
};

TEST_F(FleetCollector, ANewOnePublishesNothingBeforeItHasHeardForAFullInterval) {
  collector.began(7, {}, at(0));
  hear(1, {hot("k")}, 0);
  for (int ms = 0; ms < listens_ms; ms += 10) EXPECT_FALSE(list(ms)) << ms;
  EXPECT_EQ(collector.due(), at(listens_ms));
  auto const first = list(listens_ms);
  EXPECT_EQ(hot_in(first), names{"k"});
  EXPECT_EQ(first->number, (list_number{7, 1}));
  EXPECT_TRUE(is_plausible(*first));
}

TEST_F(FleetCollector, InAFleetThatReportsSeldomThatIntervalIsLonger) {
  collector.began(7, {.number = {6, 1}, .processes = 1, .pause_ms = 4000, .keys = {}}, at(0));
  hear(1, {hot("k")}, 0);
  EXPECT_FALSE(list(6199));
  EXPECT_TRUE(list(6200)) << "a pause may be one and a half, and a tick";
}

// All were cut off at once, and come back by and by.
TEST_F(FleetCollector, BehindAnOutageItWaitsForNineTenthsOfTheOthers) {
  collector.began(7, {.number = {6, 1}, .processes = 101, .pause_ms = 0, .keys = {}}, at(0));
  for (std::uint64_t process = 1; process < 90; ++process) hear(process, {hot("k")}, 100);
  EXPECT_FALSE(list(2000));
  hear(90, {hot("k")}, 2100);
  auto const first = list(2100);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->processes, 90u);
}

TEST_F(FleetCollector, WhoHasGoneIsWaitedForUntilHeIsTakenForGone) {
  collector.began(7, {.number = {6, 1}, .processes = 101, .pause_ms = 0, .keys = {}}, at(0));
  hear(1, {hot("k")}, 4000);
  EXPECT_FALSE(list(4999));
  EXPECT_EQ(hot_in(list(5000)), names{"k"});
}

TEST_F(FleetCollector, TheCollectorBeforeIsNotWaitedFor) {
  collector.began(7, {.number = {6, 1}, .processes = 2, .pause_ms = 0, .keys = {}}, at(0));
  hear(1, {hot("k")}, 100);
  EXPECT_TRUE(list(listens_ms));
}

TEST_F(FleetCollector, AListThatItLearnsLaterIsTakenOverUntilItHasPublishedOne) {
  fleet_list const before{
      .number = {6, 40}, .processes = 1, .pause_ms = 2000, .keys = {{.key = "k", .hot = true}}};
  collector.began(7, {}, at(0));
  hear(1, {reads("k", 375)}, 100);
  collector.learned(before, at(200));
  EXPECT_EQ(collector.due(), at(3200)) << "its pause counts from the begin";
  auto const first = list(3200);
  EXPECT_EQ(hot_in(first), names{"k"}) << "half is enough";
  EXPECT_EQ(first->number, (list_number{7, 1}));
  collector.learned({.number = {6, 41}, .processes = 9, .pause_ms = 9000, .keys = {}}, at(3300));
  EXPECT_LT(collector.due(), at(5000)) << "too late";
}

TEST_F(FleetCollector, WhatOtherPrefixesBringMakesThePauseLonger) {
  begin();
  hear(1, {hot("k")}, 0);
  auto const alone = collector.own_load();
  EXPECT_EQ(alone.heard, collector.bytes());
  collector.works_beside({.heard = fleet_collector::most_heard_a_second, .told = 0});
  EXPECT_EQ(list(0)->pause_ms, 1000u);
  collector.works_beside({.heard = 0, .told = 2 * fleet_collector::most_told_a_second});
  EXPECT_EQ(list(2000)->pause_ms, 2000u);
}

TEST_F(FleetCollector, ItIsOverWhenNobodyReportsAndAllWereToldSo) {
  EXPECT_FALSE(collector.is_over()) << "it has not begun";
  begin();
  hear(1, {hot("k")}, 0);
  EXPECT_FALSE(collector.is_over());
  ASSERT_TRUE(list(0));
  for (int ms = 10; ms < 20'000; ms += 10) list(ms);
  EXPECT_TRUE(collector.is_over());
}

TEST_F(FleetCollector, OneThatBeginsAnewInItsTermGoesOnCounting) {
  begin();
  hear(1, {hot("k")}, 0);
  ASSERT_EQ(list(0)->number, (list_number{7, 1}));
  EXPECT_GT(collector.bytes(), 0u);
  fleet_collector with_others(thresholds());
  with_others.began(7, collector.last(), at(100));
  EXPECT_EQ(with_others.bytes(), 0u);
  EXPECT_EQ(with_others.advance(at(100 + listens_ms))->number, (list_number{7, 2}));
  with_others.began(8, collector.last(), at(2000));
  EXPECT_EQ(with_others.advance(at(2000 + listens_ms))->number, (list_number{8, 1}));
}

TEST_F(FleetCollector, AListComesEachIntervalWhileAnybodyReports) {
  begin();
  EXPECT_EQ(collector.due(), clock::time_point::max()) << "nobody has said anything";
  EXPECT_FALSE(list(0));
  int lists = 0;
  for (int ms = 0; ms < 10'000; ms += 10) {
    if (ms % 1000 == 0) hear(1, {reads("k", 20)}, ms);
    lists += list(ms).has_value();
  }
  EXPECT_EQ(lists, 10);
}

TEST_F(FleetCollector, TheLastListIsEmptyAndNoneFollows) {
  begin();
  hear(1, {hot("k")}, 0);
  EXPECT_EQ(hot_in(list(0)), names{"k"});
  std::vector<fleet_list> all;
  for (int ms = 10; ms < 60'000; ms += 10) {
    if (auto one = list(ms)) all.push_back(*std::move(one));
  }
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(all.back().keys.empty());
  EXPECT_EQ(all.back().processes, 0u);
  EXPECT_LE(all.size(), 10u);
  EXPECT_EQ(collector.due(), clock::time_point::max());
}

TEST_F(FleetCollector, AKeyThatIsAnnouncedIsPublishedAtOnce) {
  begin();
  hear(1, {reads("other", 20)}, 0);
  ASSERT_TRUE(list(0));
  hear(1, {reads("other", 20), hot("k")}, 300);
  EXPECT_LE(collector.due(), at(300));
  EXPECT_EQ(hot_in(list(300)), names{"k"});
  hear(2, {hot("l")}, 305);
  EXPECT_EQ(collector.due(), at(320)) << "not closer than 20 ms";
  EXPECT_FALSE(list(319));
  EXPECT_EQ(hot_in(list(320)), (names{"k", "l"}));
}

TEST_F(FleetCollector, WhatIsHotByTheSumsIsPublishedSoon) {
  begin();
  hear(1, {reads("k", 500)}, 0);
  ASSERT_TRUE(list(0));
  hear(2, {reads("k", 500)}, 10);
  EXPECT_EQ(collector.due(), at(100));
  EXPECT_EQ(hot_in(list(100)), names{"k"});
}

TEST_F(FleetCollector, WhatHasCooledIsPublishedSoon) {
  begin();
  hear(1, {hot("k")}, 0);
  ASSERT_TRUE(list(0));
  hear(1, {reads("k", 5)}, 200);
  EXPECT_EQ(hot_in(list(200)), names{});
}

TEST_F(FleetCollector, FiftyListsASecondAreTheMost) {
  begin();
  int lists = 0;
  for (int ms = 0; ms < 10'000; ++ms) {
    hear(1, {hot(std::to_string(ms))}, ms);
    lists += list(ms).has_value();
  }
  EXPECT_GT(lists, 300);
  EXPECT_LE(lists, 500 + 1);
}

TEST_F(FleetCollector, NumbersGrowAndATermBeginsWithOne) {
  begin();
  hear(1, {hot("k")}, 0);
  EXPECT_EQ(list(0)->number, (list_number{7, 1}));
  EXPECT_EQ(list(1000)->number, (list_number{7, 2}));
  collector.ended();
  collector.began(9, {}, at(1100));
  hear(1, {hot("k")}, 1200);
  EXPECT_EQ(list(1100 + listens_ms)->number, (list_number{9, 1}));
}

TEST_F(FleetCollector, WhoseTermIsOverSaysNothing) {
  begin();
  hear(1, {hot("k")}, 0);
  collector.ended();
  EXPECT_FALSE(collector.collects());
  EXPECT_EQ(collector.due(), clock::time_point::max());
  EXPECT_FALSE(list(5000));
  EXPECT_EQ(hear(1, {hot("k")}, 5000), fleet_hearing::old);
}

// It has heard them all at another time: what it knew is not what it knows.
TEST_F(FleetCollector, ANewTermBeginsWithNothingOfTheOneBefore) {
  begin();
  hear(1, {hot("k")}, 0);
  ASSERT_TRUE(list(0));
  collector.ended();
  collector.began(8, {}, at(100));
  EXPECT_FALSE(list(100 + listens_ms)) << "nobody has reported since";
}

// It was a candidate again before it had heard that its term was over.
TEST_F(FleetCollector, ANewTermAtOnceBeginsWithNothingOfTheOneBefore) {
  begin();
  hear(1, {hot("k")}, 0);
  ASSERT_TRUE(list(0));
  collector.began(8, {}, at(100));
  EXPECT_FALSE(list(100 + listens_ms));
}

TEST_F(FleetCollector, WhatTheLastListCalledHotStaysIfItHasHalfOfWhatItNeeds) {
  fleet_list const before{
      .number = {6, 40},
      .processes = 2,
      .pause_ms = 0,
      .keys = {{.key = "half", .hot = true}, {.key = "gone", .hot = true}, {.key = "cold"}}};
  begin(before);
  hear(1, {reads("half", 375), reads("cold", 375)}, 0);
  auto const first = list(0);
  EXPECT_EQ(hot_in(first), names{"half"});
  EXPECT_EQ(first->number, (list_number{7, 1}));
}

// Else they would be hot there for as long as a list holds.
TEST_F(FleetCollector, WhereNobodyReportsAnyMoreAnEmptyListEndsTheLastOne) {
  begin({.number = {6, 1}, .processes = 1, .pause_ms = 0, .keys = {{.key = "k", .hot = true}}});
  auto const first = list(0);
  ASSERT_TRUE(first);
  EXPECT_TRUE(first->keys.empty());
}

TEST_F(FleetCollector, AListHasTheSumsAndWhoIsHotWithoutBeingNamed) {
  begin();
  hear(1, {{"k", 500, 600, 2, false, 4000}, reads("few", 20)}, 0);
  hear(2, {{"k", 600, 700, 1, false, 0}}, 0);
  auto const first = list(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->processes, 2u);
  ASSERT_EQ(first->keys.size(), 2u);
  EXPECT_EQ(first->keys[0], (fleet_sum{"k", 1100, 1300, 2, 2, true, 1, 4000}));
  EXPECT_EQ(first->keys[1].key, "few");
  hear(1, {}, 1000);
  hear(2, {}, 1000);
  EXPECT_EQ(hot_in(list(1000)), names{"k"}) << "it cools after three seconds";
}

TEST_F(FleetCollector, KeysThatAreNotHotAreListedAsFarAsThereIsRoomThoseReadMost) {
  begin();
  auto const name = [](std::uint64_t i) { return std::to_string(i) + std::string(100, 'x'); };
  for (std::uint64_t process = 1; process <= 4; ++process) {
    std::vector<fleet_key> all;
    for (std::uint64_t i = 0; i < 60; ++i) {
      all.push_back(reads(name(process * 100 + i), process * 100 + i));
    }
    hear(process, std::move(all), 0);
  }
  hear(5, {hot("k")}, 0);
  auto const first = list(0);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->keys[0].key, "k");
  EXPECT_EQ(first->keys[1].low, 459u);
  EXPECT_GT(first->keys.size(), 40u);
  EXPECT_LE(encoded_bytes(*first), fleet_collector::room_of_others);
}

// H7
TEST_F(FleetCollector, WhatIsHotKeepsNothingHotterOut) {
  begin();
  hear(1, {reads("a", 1000), reads("b", 1100), reads("c", 1200)}, 0);
  ASSERT_TRUE(list(0));
  hear(2, {reads("d", 2000)}, 200);
  EXPECT_EQ(hot_in(list(200)), (names{"d", "c", "b"}));
}

TEST_F(FleetCollector, WhoSaysNothingForFourIntervalsIsGone) {
  begin();
  hear(1, {hot("k")}, 0);
  ASSERT_TRUE(list(0));
  EXPECT_EQ(hot_in(list(4999)), names{"k"});
  EXPECT_EQ(hot_in(list(6000)), names{});
}

// The law of its load: what n processes report, at 8 MiB a second.
TEST_F(FleetCollector, InALargeFleetThePauseGrowsWithWhatAllReport) {
  std::vector<fleet_key> many;
  for (int i = 0; i < 64; ++i)
    many.push_back(reads("product:00000000" + std::to_string(100 + i), 20));
  auto const pause_of = [&](std::uint64_t processes) {
    begin();
    for (std::uint64_t p = 1; p <= processes; ++p) hear(p, many, 0);
    auto const one = list(0);
    EXPECT_TRUE(one);
    return one ? one->pause_ms : 0;
  };
  auto const bytes = encoded_bytes(fleet_report{1, 1, 0, many}) + hot_fleet::bytes_around;
  auto const whole = fleet_collector::most_heard_a_second;
  EXPECT_EQ(pause_of(50), 50 * bytes * 1000 / whole);
  EXPECT_EQ(pause_of(400), 400 * bytes * 1000 / whole) << "n, not its square";
  EXPECT_LT(pause_of(400), 200u);
}

TEST_F(FleetCollector, NoTwoListsAreCloserThanItsPause) {
  begin();
  std::vector<fleet_key> many;
  for (int i = 0; i < 64; ++i) many.push_back(reads(std::string(200, 'x') + std::to_string(i), 1));
  for (std::uint64_t p = 1; p <= 400; ++p) hear(p, many, 0);
  auto const first = list(0);
  ASSERT_TRUE(first);
  ASSERT_GT(first->pause_ms, 500u);
  hear(1, {hot("k")}, 10);
  auto const pause = static_cast<int>(first->pause_ms);
  EXPECT_FALSE(list(pause - 40));
  EXPECT_EQ(hot_in(list(pause + 40)), names{"k"});
}

TEST_F(FleetCollector, ThePauseGrowsWithWhatTheStoreSendsToo) {
  fleet_thresholds many = thresholds();
  many.most_hot = 256;
  fleet_collector some(many);
  some.began(7, {}, at(-listens_ms));
  for (std::uint64_t p = 1; p <= 4; ++p) {
    std::vector<fleet_key> all;
    for (std::uint64_t i = 0; i < 64; ++i) {
      auto key = std::to_string(p * 100 + i);
      key.resize(200, 'x');
      all.push_back(hot(key));
    }
    some.heard({p, 1, 0, std::move(all)}, at(0));
  }
  for (std::uint64_t p = 5; p <= 400; ++p) some.heard({p, 1, 0, {}}, at(0));
  auto const first = some.advance(at(0));
  ASSERT_TRUE(first);
  auto const second = some.advance(at(5000));
  ASSERT_TRUE(second);
  auto const sent = 400 * (encoded_bytes(*first) + hot_fleet::bytes_around);
  EXPECT_EQ(second->pause_ms, sent * 1000 / fleet_collector::most_told_a_second);
}

TEST_F(FleetCollector, ItsBoundIsOneOfBytesAndOthersGoOn) {
  auto bounded = thresholds();
  fleet_report const one{1, 1, 0, {hot("k")}};
  bounded.most_bytes = 3000 * (encoded_bytes(one) + hot_fleet::bytes_around);
  fleet_collector some(bounded);
  some.began(7, {}, at(-listens_ms));
  for (std::uint64_t p = 1; p <= 3000; ++p) {
    ASSERT_EQ(some.heard({p, 1, 0, {hot("k")}}, at(0)), fleet_hearing::news) << p;
  }
  EXPECT_EQ(some.heard({3001, 1, 0, {hot("l")}}, at(0)), fleet_hearing::refused);
  EXPECT_EQ(some.heard({1, 2, 0, {hot("l")}}, at(0)), fleet_hearing::news);
  auto const first = some.advance(at(0));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->processes, 3000u);
  EXPECT_EQ(hot_in(first), (names{"k", "l"}));
}

}  // namespace
}  // namespace herdlock::algo
