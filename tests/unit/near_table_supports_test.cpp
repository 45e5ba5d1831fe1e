// Records that rest on others, as entries do on the records of their tags.
#include "near_table_fixture.hpp"

namespace herdlock_test {
namespace {

using herdlock::detail::near_role;
using herdlock::detail::near_supports;

struct supported_table : near_table_of_texts {
  using near_table_of_texts::near_table_of_texts;

  bool keep_on(std::string_view key, std::vector<std::string> const& names,
               near_entry const& how = {first, never}) {
    near_supports supports;
    for (auto const& one : names) supports.push_back(find_record(one, at(0)));
    return insert(key, how, {std::make_shared<std::string const>("v"), 1, std::move(supports)},
                  at(0));
  }
  bool keep_support(std::string_view key, near_entry const& how = {first, never}) {
    return insert(key, how, {std::make_shared<int const>(7), 4, {}, near_role::support}, at(0));
  }
  /// The thread finds it in its own lines from the second time on.
  void expect(std::string_view key, std::string const& value, time_point now = at(0)) {
    for (int again = 0; again < 3; ++again) EXPECT_EQ(get(key, now), value) << again;
  }
};

TEST(NearTableSupports, ARecordIsServedWhileAllThatItRestsOnAre) {
  supported_table table;
  table.keep("a", "");
  table.keep("b", "");
  ASSERT_TRUE(table.keep_on("k", {"a", "b"}));
  table.expect("k", "v");
  table.drop("b");
  table.expect("k", "");
}

TEST(NearTableSupports, OneEndsAllThatRestOnIt) {
  supported_table table;
  table.keep("a", "");
  table.keep("b", "");
  for (int i = 0; i < 500; ++i) {
    table.keep_on("k" + std::to_string(i), {"a"});
    table.keep_on("l" + std::to_string(i), {"b"});
  }
  table.expect("k7", "v");
  table.drop("a");
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(table.get("k" + std::to_string(i)), "");
    EXPECT_EQ(table.get("l" + std::to_string(i)), "v");
  }
  EXPECT_EQ(table.counts().dropped, 1u);
}

TEST(NearTableSupports, WhatRestedOnARecordDoesNotRestOnTheNextOne) {
  supported_table table;
  table.keep("a", "");
  table.keep_on("k", {"a"});
  table.keep("a", "");
  table.expect("k", "");
  table.keep_on("k", {"a"});
  table.expect("k", "v");
}

TEST(NearTableSupports, TheEndsOfARecordAreThoseOfWhatRestsOnIt) {
  supported_table table;
  near_generation const other{2};
  table.trust(other, at(20));
  table.keep("by time", "", {first, at(10)});
  table.keep("by trust", "", {other, never});
  table.keep_on("a", {"by time"});
  table.keep_on("b", {"by trust"});
  table.expect("a", "v", at(9));
  table.expect("a", "", at(10));
  table.expect("b", "v", at(19));
  table.expect("b", "", at(20));
  table.trust(other, at(30));
  table.expect("b", "v", at(20));
  table.end(other);
  table.expect("b", "", at(20));
}

// They would take with them what is used.
TEST(NearTableSupports, ARecordThatOthersRestOnMakesNoRoomWhileTheyAreHit) {
  supported_table table({.entries = 10});
  table.keep("a", "");
  table.keep_on("k", {"a"});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(table.get("k"), "v") << i;
    table.keep("cold" + std::to_string(i), "v");
  }
}

// Nor while they are not: they would all go at once.
TEST(NearTableSupports, ASupportMakesNoRoomWhileSomethingRestsOnIt) {
  supported_table table({.entries = 4});
  table.keep_support("a");
  for (auto const* const key : {"k", "l", "m"}) table.keep_on(key, {"a"});
  table.keep("other", "v");
  EXPECT_EQ(table.counts().evicted, 1u);
  EXPECT_NE(table.find_record("a", at(0)), nullptr);
  supported_table small({.entries = 1});
  small.keep_support("a");
  small.keep("other", "v");
  EXPECT_EQ(small.get("other"), "v");
  EXPECT_EQ(small.find_record("a", at(0)), nullptr) << "nothing rests on it";
}

TEST(NearTableSupports, WhenAllIsRestedOnTheTableTakesWhatIsNextAllTheSame) {
  constexpr std::size_t most = herdlock::detail::near_order::most_looks + 1;
  supported_table table({.entries = most});
  std::vector<herdlock::detail::near_record_ptr> held;
  for (std::size_t i = 0; i < most; ++i) {
    auto const key = std::to_string(i);
    table.keep_support(key);
    held.push_back(table.find_record(key, at(0)));
  }
  EXPECT_TRUE(table.keep("k", "v"));
  EXPECT_EQ(table.counts().entries, most);
}

TEST(NearTableSupports, WhatRestsOnWhatIsGoneIsSweptAndCounted) {
  supported_table table;
  table.keep("a", "");
  for (int i = 0; i < 100; ++i) table.keep_on("k" + std::to_string(i), {"a"});
  table.keep("other", "v");
  table.drop("a");
  table.sweep(at(0));
  EXPECT_EQ(table.counts().entries, 1u);
  EXPECT_EQ(table.counts().fallen, 100u);
  EXPECT_EQ(table.counts().evicted, 0u);
}

TEST(NearTableSupports, WhatMakesRoomAndRestedOnWhatIsGoneIsNotEvicted) {
  supported_table table({.entries = 3});
  table.keep("a", "");
  table.keep_on("k", {"a"});
  table.drop("a");
  for (int i = 0; i < 3; ++i) table.keep("l" + std::to_string(i), "v");
  EXPECT_EQ(table.counts().fallen, 1u);
  EXPECT_EQ(table.counts().evicted, 0u);
}

TEST(NearTableSupports, WhatIsDroppedAndRestedOnWhatIsGoneHadEndedWithThat) {
  supported_table table;
  table.keep("a", "");
  table.keep_on("k", {"a"});
  table.drop("a");
  table.drop("k");
  EXPECT_EQ(table.counts().fallen, 1u);
  EXPECT_EQ(table.counts().dropped, 1u);
}

// Its value is of another type than the entries' are.
TEST(NearTableSupports, ASupportIsNoAnswerToWhoAsksForItsKey) {
  supported_table table;
  ASSERT_TRUE(table.keep_support("a"));
  table.keep_on("k", {"a"});
  for (int again = 0; again < 3; ++again) {
    for (auto const who : {near_look::any, near_look::loader, near_look::first}) {
      EXPECT_FALSE(table.find("a", at(0), who));
    }
    EXPECT_EQ(table.get("k"), "v");
  }
  EXPECT_EQ(table.counts().hits, 3u);
}

TEST(NearTableSupports, WhatIsKeptIsLookedAtWithoutAHit) {
  supported_table table;
  EXPECT_EQ(table.find_record("a", at(0)), nullptr);
  table.keep("a", "v", {first, at(10)});
  EXPECT_NE(table.find_record("a", at(9)), nullptr);
  EXPECT_EQ(table.find_record("a", at(10)), nullptr);
  EXPECT_EQ(table.counts().hits, 0u);
}

}  // namespace
}  // namespace herdlock_test
