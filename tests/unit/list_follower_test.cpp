// What a process believes of the lists that come.
#include "algo/list_follower.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

class ListFollower : public ::testing::Test {
 protected:
  using changes = std::vector<fleet_change>;
  static constexpr auto became_hot = fleet_change::kind::hot;
  static constexpr auto cooled = fleet_change::kind::cooled;

  static clock::time_point at(int ms) { return clock::time_point(milliseconds(ms)); }

  static fleet_list list(list_number number, std::vector<std::string> const& hot,
                         std::uint64_t pause_ms = 0) {
    fleet_list made{
        .number = number, .processes = 2, .pause_ms = pause_ms, .keys = {}, .options = 1};
    for (auto const& key : hot) {
      made.keys.push_back({.key = key, .low = 10, .high = 10, .processes = 1, .hot = true});
    }
    return made;
  }
  fleet_hearing how(fleet_list const& one, int ms) { return follower.take(one, at(ms)).how; }
  changes what(fleet_list const& one, int ms) { return follower.take(one, at(ms)).changes; }

  list_follower follower;
};

TEST_F(ListFollower, WhatAListCallsHotIsHotAndWhatTheNextOneDoesNotHasCooled) {
  EXPECT_EQ(what(list({5, 1}, {"a", "b"}), 0), (changes{{became_hot, "a"}, {became_hot, "b"}}));
  EXPECT_EQ(what(list({5, 2}, {"b", "c"}), 10), (changes{{cooled, "a"}, {became_hot, "c"}}));
  EXPECT_FALSE(follower.is_hot("a"));
  EXPECT_TRUE(follower.is_hot("c"));
  EXPECT_EQ(what(list({5, 3}, {"b", "c"}), 20), changes{}) << "once";
}

TEST_F(ListFollower, WhatIsInAListWithoutBeingHotIsNotHot) {
  auto one = list({5, 1}, {"a"});
  one.keys[0].hot = false;
  EXPECT_EQ(what(one, 0), changes{});
  EXPECT_FALSE(follower.is_hot("a"));
  EXPECT_EQ(follower.top(10), one.keys);
}

// A collector that was stopped goes on with its own term, and with a counter that is far ahead.
TEST_F(ListFollower, AListOfAnOlderTermIsRefusedWhateverItsCounter) {
  what(list({5, 900}, {"old"}), 0);
  EXPECT_EQ(what(list({6, 1}, {"new"}), 100), (changes{{cooled, "old"}, {became_hot, "new"}}));
  EXPECT_EQ(how(list({5, 901}, {"old"}), 200), fleet_hearing::old);
  EXPECT_TRUE(follower.is_hot("new"));
  EXPECT_FALSE(follower.is_hot("old"));
}

TEST_F(ListFollower, ADoubledOrLateListIsRefused) {
  what(list({5, 2}, {"a"}), 0);
  EXPECT_EQ(how(list({5, 2}, {"b"}), 10), fleet_hearing::old) << "doubled";
  EXPECT_EQ(how(list({5, 1}, {"b"}), 20), fleet_hearing::old) << "late";
  EXPECT_EQ(how(list({5, 4}, {"b"}), 30), fleet_hearing::news) << "one was lost";
}

TEST_F(ListFollower, WhatIsNotPlausibleIsRefusedAndChangesNothing) {
  what(list({5, 1}, {"a"}), 0);
  EXPECT_EQ(how(list({5, 2}, {"b", "b"}), 10), fleet_hearing::refused);
  EXPECT_TRUE(follower.is_hot("a"));
  EXPECT_EQ(how(list({5, 2}, {"b"}), 20), fleet_hearing::news) << "its number was not taken";
}

// Twice (2 s of an election, 1 s of an interval, 0.5 s), and 5 s.
TEST_F(ListFollower, WithoutACollectorTheLastListHoldsForAWhileAndThenItsKeysCool) {
  what(list({5, 1}, {"a"}), 1000);
  EXPECT_TRUE(follower.has_collector(at(7999)));
  EXPECT_FALSE(follower.has_collector(at(8000)));
  EXPECT_EQ(follower.due(), at(13'000));
  EXPECT_EQ(follower.advance(at(12'999)), changes{});
  EXPECT_TRUE(follower.is_hot("a"));
  EXPECT_EQ(follower.advance(at(13'000)), (changes{{cooled, "a"}}));
  EXPECT_FALSE(follower.is_hot("a"));
  EXPECT_TRUE(follower.top(10).empty());
  EXPECT_EQ(follower.due(), clock::time_point::max());
}

TEST_F(ListFollower, EachListBeginsThatTimeAnewAndAnOldOneDoesNot) {
  what(list({5, 1}, {"a"}), 0);
  what(list({5, 2}, {"a"}), 5000);
  EXPECT_EQ(how(list({5, 1}, {"a"}), 10'000), fleet_hearing::old);
  EXPECT_EQ(follower.due(), at(17'000));
}

TEST_F(ListFollower, WhereListsAreFurtherApartThatTimeIsLonger) {
  what(list({5, 1}, {"a"}, 4000), 0);
  EXPECT_EQ(follower.due(), at(2 * (2000 + 4000 + 500) + 5000));
}

// It may be a stopped collector's first word after a long time.
TEST_F(ListFollower, AnOldListIsRefusedAlsoWhenNoListHasComeForLong) {
  what(list({5, 7}, {"a"}), 0);
  follower.advance(at(100'000));
  EXPECT_EQ(how(list({5, 7}, {"a"}), 100'001), fleet_hearing::old);
  EXPECT_EQ(how(list({4, 9}, {"a"}), 100'002), fleet_hearing::old);
  EXPECT_EQ(what(list({5, 8}, {"a"}), 100'003), (changes{{became_hot, "a"}})) << "was cut off";
}

// Somebody has published a number of his own, or the fencing tokens were lost.
TEST_F(ListFollower, ALowerTermIsBelievedWhenNoOtherListHasComeForLong) {
  what(list({900, 7}, {"a"}), 0);
  follower.advance(at(12'000));
  EXPECT_EQ(how(list({5, 1}, {"b"}), 12'000), fleet_hearing::old);
  EXPECT_EQ(how(list({4, 9}, {"c"}), 12'500), fleet_hearing::old) << "a stopped one's last word";
  EXPECT_EQ(how(list({5, 2}, {"b"}), 12'999), fleet_hearing::old);
  EXPECT_EQ(how(list({5, 1}, {"b"}), 13'100), fleet_hearing::old) << "told twice";
  EXPECT_EQ(what(list({5, 3}, {"b"}), 13'200), (changes{{became_hot, "b"}}));
  EXPECT_EQ(how(list({4, 10}, {"c"}), 13'300), fleet_hearing::old);
}

TEST_F(ListFollower, ALowerTermIsNotBelievedWhileListsCome) {
  for (std::uint64_t i = 1; i < 30; ++i) {
    auto const ms = static_cast<int>(i) * 1000;
    bool const is_later = i % 3 == 1;
    EXPECT_EQ(how(list({is_later ? 6u : 5u, i}, {"a"}), ms),
              is_later ? fleet_hearing::news : fleet_hearing::old);
  }
}

TEST_F(ListFollower, ThePauseOfTheLastListHoldsWithoutACollector) {
  what(list({5, 1}, {"a"}, 4000), 0);
  follower.advance(at(100'000));
  EXPECT_EQ(follower.list().pause_ms, 4000u);
}

TEST_F(ListFollower, WhatIsReadMostIsToldFirst) {
  what(list({5, 1}, {"z"}), 0);
  auto one = list({5, 2}, {"a", "b"});
  one.keys[1].low = one.keys[1].high = 30;
  auto const told = what(one, 10);
  EXPECT_EQ(told, (changes{{cooled, "z"}, {became_hot, "b"}, {became_hot, "a"}}));
  EXPECT_EQ(told[1].low, 30u);
}

TEST_F(ListFollower, ATermThatIsNoFencingTokenIsRefused) {
  EXPECT_EQ(how(list({fleet_list::terms_end, 1}, {"a"}), 0), fleet_hearing::refused);
  EXPECT_EQ(how(list({fleet_list::terms_end - 1, 1}, {"a"}), 0), fleet_hearing::news);
}

TEST_F(ListFollower, BeforeTheFirstListThereIsNothing) {
  EXPECT_EQ(follower.due(), clock::time_point::max());
  EXPECT_FALSE(follower.has_collector(at(0)));
  EXPECT_EQ(follower.advance(at(1'000'000)), changes{});
  EXPECT_TRUE(follower.top(5).empty());
}

TEST_F(ListFollower, TopHasThoseThatAreReadMost) {
  auto one = list({5, 1}, {"a", "b", "c"});
  one.keys[1].low = one.keys[1].high = 30;
  one.keys[2].low = one.keys[2].high = 20;
  follower.take(one, at(0));
  auto const top = follower.top(2);
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].key, "b");
  EXPECT_EQ(top[1].key, "c");
}

}  // namespace
}  // namespace herdlock::algo
