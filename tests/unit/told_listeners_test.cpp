// Who hears what of the rows that a store is asked for again and again.
#include <gtest/gtest.h>

#include "algo/told_listeners.hpp"

namespace {

using herdlock::algo::told_listeners;
using herdlock::algo::told_row;
using words = std::vector<std::string>;

struct told_listeners_test : testing::Test {
  std::shared_ptr<words> listen(std::string topic) {
    auto const heard = std::make_shared<words>();
    all.add({std::move(topic), heard,
             [to = heard.get()](told_row const& row) { to->push_back(row.text); }});
    return heard;
  }

  told_listeners all;
};

TEST_F(told_listeners_test, EachHearsItsTopicAndNothingTwice) {
  auto const a = listen("a"), b = listen("b");
  all.tell({0, 2, {{1, "a", "one"}, {2, "b", "two"}}});
  EXPECT_EQ(all.from(), 2);
  all.tell({0, 3, {{1, "a", "one"}, {2, "b", "two"}, {3, "a", "three"}}});
  EXPECT_EQ(*a, (words{"one", "three"}));
  EXPECT_EQ(*b, (words{"two"}));
}

TEST_F(told_listeners_test, WhoComesLaterIsAskedForFromTheBeginning) {
  auto const first = listen("a");
  all.tell({0, 5, {{5, "a", "old"}}});
  auto const late = listen("a");
  EXPECT_EQ(all.from(), 0);
  all.tell({5, 6, {{6, "a", "new"}}});  // the question was under way
  EXPECT_EQ(*late, words());
  EXPECT_EQ(all.from(), 0) << "it has still to hear what was before";
  all.tell({0, 6, {{5, "a", "old"}, {6, "a", "new"}}});
  EXPECT_EQ(*late, (words{"old", "new"}));
  EXPECT_EQ(*first, (words{"old", "new"}));
}

TEST_F(told_listeners_test, WhereNothingIsFoundNothingChanges) {
  auto const a = listen("a");
  all.tell({0, 4, {{4, "a", "x"}}});
  all.tell({4, 4, {}});
  EXPECT_EQ(all.from(), 4);
  EXPECT_EQ(*a, (words{"x"}));
}

TEST_F(told_listeners_test, WhoHasGoneHearsNothingAndIsDropped) {
  auto gone = listen("a");
  gone.reset();
  all.tell({0, 1, {{1, "a", "x"}}});
  all.drop_gone();
  EXPECT_TRUE(all.empty());
}

TEST_F(told_listeners_test, OneMayComeWhileAnotherHears) {
  auto const heard = std::make_shared<words>();
  std::shared_ptr<words> later;
  all.add({"a", heard, [&](told_row const&) { later = listen("a"); }});
  all.tell({0, 1, {{1, "a", "x"}}});
  ASSERT_TRUE(later);
  EXPECT_EQ(all.from(), 0);
}

}  // namespace
