// What the table of the near cache counts of values that come back, and of its generations.
#include "near_table_fixture.hpp"

namespace herdlock_test {
namespace {

near_entry const kept{first, never};

TEST(NearTableCounts, WhatComesBackAsItWasIsCounted) {
  near_table_of_texts table;
  table.keep("k", "v", kept, 7);
  EXPECT_EQ(table.counts().unchanged, 0u);
  table.drop("k");
  table.keep("k", "v", kept, 7);
  EXPECT_EQ(table.counts().unchanged, 1u);
  table.drop("k");
  table.keep("k", "w", kept, 8);
  EXPECT_EQ(table.counts().unchanged, 1u);
}

TEST(NearTableCounts, ItIsCountedOnceForEachChange) {
  near_table_of_texts table;
  table.keep("k", "v", kept, 7);
  table.drop("k");
  for (int again = 0; again < 3; ++again) table.keep("k", "v", kept, 7);
  EXPECT_EQ(table.counts().unchanged, 1u);
}

TEST(NearTableCounts, WhatNobodyChangedDoesNotComeBack) {
  near_table_of_texts table(near_table_options{.entries = 1});
  table.keep("k", "v", kept, 7);
  table.keep("other", "v", kept, 7);
  ASSERT_EQ(table.counts().evicted, 1u);
  table.keep("k", "v", kept, 7);
  EXPECT_EQ(table.counts().unchanged, 0u);
}

TEST(NearTableCounts, WhatIsNotWantedForATimeHasNotChanged) {
  near_table_of_texts table;
  table.keep("k", "v", kept, 7);
  table.drop("k", herdlock::detail::near_drop::unwanted);
  table.keep("k", "v", kept, 7);
  EXPECT_EQ(table.counts().unchanged, 0u);
  EXPECT_EQ(table.counts().dropped, 0u);
}

TEST(NearTableCounts, WhatHasNoFingerprintIsNotCompared) {
  near_table_of_texts table;
  table.keep("k", "v");
  table.drop("k");
  table.keep("k", "v");
  EXPECT_EQ(table.counts().unchanged, 0u);
}

TEST(NearTableCounts, TheEarliestEndOfTrustIsTold) {
  near_table_of_texts table;
  EXPECT_FALSE(table.counts().trusted_until);
  table.trust(near_generation{2}, at(20));
  table.trust(near_generation{3}, at(10));
  EXPECT_EQ(table.counts().trusted_until, at(10));
  table.end(near_generation{3});
  EXPECT_EQ(table.counts().trusted_until, at(20));
  table.end(near_generation{2});
  EXPECT_FALSE(table.counts().trusted_until);
}

TEST(NearTableCounts, AValueThatIsLargerThanOneMayBeIsNotKept) {
  near_table_of_texts table({.value_bytes = 100});
  EXPECT_TRUE(table.keep("a", std::string(100, 'x')));
  EXPECT_FALSE(table.keep("b", std::string(101, 'x')));
  EXPECT_EQ(table.counts().refused, 1u);
  EXPECT_EQ(table.counts().evicted, 0u) << "nothing makes room for it";
}

}  // namespace
}  // namespace herdlock_test
