// What processes report to each other, and the rules that people write for them: kept for those who
// come, told to those who are there, never lost to another writer.
#include "exchange_fixture.hpp"

namespace herdlock_test {
namespace {

bool exchanges(store_case const& kind) { return kind.exchanges; }

std::string const binary{"\0 1 \n\xff", 6};

struct report_contract : store_contract {
  std::unique_ptr<client> const other = another();
};

INSTANTIATE_TEST_SUITE_P(stores, report_contract, testing::ValuesIn(stores_that(exchanges)),
                         case_name);

TEST_P(report_contract, AreToldToAllWhoListen) {
  auto const first = listen(c), second = listen(*other);
  ASSERT_TRUE(report(*other, "p", 1, "from before"));
  EXPECT_TRUE(c.run_until([&] { return first->has("from before"); }));
  ASSERT_TRUE(report(*other, "p", 2, binary));
  EXPECT_TRUE(c.run_until([&] { return first->has(binary); }));
  EXPECT_TRUE(other->run_until([&] { return second->has(binary); })) << "one's own, too";
}

TEST_P(report_contract, AreKeptForThoseWhoCome) {
  ASSERT_TRUE(report(c, "p", 1, "old"));
  ASSERT_TRUE(report(c, "p", 2, "new"));
  ASSERT_TRUE(report(c, "q", 1, binary));
  auto const heard = listen(*other);
  EXPECT_TRUE(other->run_until([&] { return heard->has("new") && heard->has(binary); }));
}

TEST_P(report_contract, AreHeardBySeveralListenersOfOneHandleWheneverTheyCome) {
  auto const early = listen(c);
  ASSERT_TRUE(report(*other, "p", 1, "one"));
  ASSERT_TRUE(c.run_until([&] { return early->has("one"); }));
  auto const late = listen(c);
  EXPECT_TRUE(c.run_until([&] { return late->has("one"); }));
  ASSERT_TRUE(report(*other, "p", 2, "two"));
  EXPECT_TRUE(c.run_until([&] { return early->has("two") && late->has("two"); }));
}

TEST_P(report_contract, OneThatIsNoNewerChangesNothing) {
  ASSERT_TRUE(report(c, "p", 7, "new"));
  ASSERT_TRUE(report(c, "p", 7, "doubled"));
  ASSERT_TRUE(report(c, "p", 6, "late"));
  auto const heard = listen(*other);
  ASSERT_TRUE(other->run_until([&] { return heard->has("new"); }));
  ASSERT_TRUE(report(c, "p", 8, "last"));
  ASSERT_TRUE(other->run_until([&] { return heard->has("last"); }));
  EXPECT_FALSE(heard->has("doubled"));
  EXPECT_FALSE(heard->has("late"));
}

TEST_P(report_contract, TopicsAreApart) {
  auto const heard = listen(c, "other");
  auto const its = listen(c);
  ASSERT_TRUE(report(*other, "p", 1, "x"));
  ASSERT_TRUE(c.run_until([&] { return its->has("x"); }));
  EXPECT_TRUE(heard->texts.empty());
}

TEST_P(report_contract, AListenerThatHasGoneHearsNothingAndTheOthersGoOn) {
  auto gone = listen(c);
  auto const heard = listen(c);
  gone.reset();
  ASSERT_TRUE(report(*other, "p", 1, "x"));
  EXPECT_TRUE(c.run_until([&] { return heard->has("x"); }));
}

TEST_P(report_contract, AHandleThatIsClosedHearsNothingAndTheOthersGoOn) {
  auto const closed = listen(*other);
  auto const heard = listen(c);
  other->close();
  ASSERT_TRUE(report(c, "p", 1, "x"));
  EXPECT_TRUE(c.run_until([&] { return heard->has("x"); }));
  EXPECT_TRUE(closed->texts.empty());
}

struct rules_contract : store_contract {
  std::unique_ptr<client> const other = another();
};

INSTANTIATE_TEST_SUITE_P(stores, rules_contract, testing::ValuesIn(stores_that(exchanges)),
                         case_name);

TEST_P(rules_contract, AreNoneAtFirst) {
  EXPECT_EQ(read_rules(c).version, 0u);
  EXPECT_EQ(read_rules(c).text, "");
}

TEST_P(rules_contract, AreToldToAllWhoListen) {
  auto const heard = listen_for_rules(c);
  auto const first = write_rules(*other, 0, "first");
  ASSERT_TRUE(c.run_until([&] { return heard->last.version == first; }));
  auto const version = write_rules(*other, first, binary);
  EXPECT_GT(version, first);
  EXPECT_TRUE(c.run_until([&] { return heard->last.version == version; }));
  EXPECT_EQ(heard->last.text, binary);
  EXPECT_EQ(read_rules(*other).version, version);
  EXPECT_EQ(read_rules(*other).text, binary);
}

TEST_P(rules_contract, AreToldToThoseWhoCome) {
  auto const version = write_rules(c, 0, "old");
  auto const heard = listen_for_rules(*other);
  EXPECT_TRUE(other->run_until([&] { return heard->last.version == version; }));
  EXPECT_EQ(heard->last.text, "old");
}

TEST_P(rules_contract, OfTwoWhoHaveReadTheSameOneIsRefused) {
  auto const first = write_rules(c, 0, "a");
  EXPECT_EQ(write_rules(*other, 0, "b"), 0u);
  EXPECT_EQ(read_rules(*other).text, "a");
  EXPECT_GT(write_rules(*other, first, "b"), first);
  EXPECT_EQ(read_rules(c).text, "b");
  EXPECT_EQ(write_rules(c, first, "c"), 0u);
}

TEST_P(rules_contract, OfATopicAreNotThoseOfAnother) {
  auto const heard = listen_for_rules(c);
  auto const others = write_rules(*other, 0, "b", "other");
  EXPECT_GT(others, 0u);
  EXPECT_EQ(read_rules(c).version, 0u);
  auto const version = write_rules(*other, 0, "a");
  ASSERT_TRUE(c.run_until([&] { return heard->last.version == version; }));
  EXPECT_EQ(heard->last.text, "a");
  EXPECT_EQ(read_rules(c, "other").version, others);
}

TEST_P(rules_contract, HowManyHandlesListenIsToldWhereTheStoreKnows) {
  auto const none = count_listeners(c);
  auto const first = listen_for_rules(*other), second = listen_for_rules(*other);
  EXPECT_EQ(none.value_or(0), 0u);
  auto const version = write_rules(c, 0, "a");
  ASSERT_TRUE(other->run_until([&] { return second->last.version == version; }));
  EXPECT_EQ(count_listeners(c), none ? listener_count(1) : std::nullopt) << "one handle";
  EXPECT_EQ(count_listeners(c, "another"), none);
}

TEST_P(rules_contract, AListenerThatHasGoneHearsNothingAndTheOthersGoOn) {
  auto gone = listen_for_rules(c);
  auto const heard = listen_for_rules(c);
  gone.reset();
  auto const version = write_rules(*other, 0, "a");
  EXPECT_TRUE(c.run_until([&] { return heard->last.version == version; }));
}

}  // namespace
}  // namespace herdlock_test
