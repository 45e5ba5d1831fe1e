// Entries that are to be read anew while they are served, and who is told of hits.
#include <cstdint>
#include <string>

#include "near_table_fixture.hpp"

namespace herdlock_test {
namespace {

near_entry due_at(int ms) { return {first, at(10'000), never, at(ms)}; }

TEST(NearTableDue, OfWhatIsDueTheFirstWhoCanLoadGetsNothing) {
  near_table_of_texts table;
  table.keep("k", "v", due_at(100));
  EXPECT_TRUE(table.find("k", at(99), near_look::first));
  EXPECT_TRUE(table.find("k", at(100), near_look::any)) << "he cannot load";
  EXPECT_FALSE(table.find("k", at(100), near_look::loader)) << "he asks again";
  EXPECT_FALSE(table.find("k", at(100), near_look::loader));
  EXPECT_FALSE(table.find("k", at(100), near_look::first));
  EXPECT_TRUE(table.find("k", at(101), near_look::first));
  EXPECT_TRUE(table.find("k", at(101), near_look::loader));
}

// Whoever was let through may have come to nothing.
TEST(NearTableDue, WhileItIsNotKeptAnewAnotherIsLetThroughNowAndThen) {
  near_table_of_texts table;
  table.keep("k", "v", due_at(100));
  EXPECT_FALSE(table.find("k", at(100), near_look::first));
  EXPECT_TRUE(table.find("k", at(149), near_look::first));
  EXPECT_FALSE(table.find("k", at(150), near_look::first));
  EXPECT_TRUE(table.find("k", at(151), near_look::first));
}

TEST(NearTableDue, WhatIsDueBehindItsEndIsNotDue) {
  near_table_of_texts table;
  table.keep("k", "v", due_at(10'000));
  EXPECT_TRUE(table.find("k", at(9'999), near_look::first));
}

TEST(NearTableDue, AValueThatIsKeptAnewIsDueAnew) {
  near_table_of_texts table;
  table.keep("k", "v", due_at(100));
  EXPECT_FALSE(table.find("k", at(100), near_look::first));
  table.keep("k", "v", due_at(200));
  EXPECT_TRUE(table.find("k", at(199), near_look::first));
  EXPECT_FALSE(table.find("k", at(200), near_look::first));
}

// Who holds a line of a thread's cache, and who does not.
TEST(NearTableUses, WhoCountsUsesIsToldOfEachHitButTheLastFew) {
  hot_counter uses(1);
  near_table_of_texts table({.uses = &uses});
  table.keep("often", "v");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(table.get("often"), "v");
  std::uint64_t told = 0;
  uses.each_shard([&](auto const& shard) { told += shard.total().reads; }, [] {});
  EXPECT_LE(told, 100u);
  EXPECT_GT(told, 100u - near_thread_cache::told_at_once);
}

TEST(NearTableUses, AKeyThatLosesItsLineIsToldOfToTheEnd) {
  hot_counter uses(1);
  near_table_of_texts table({.entries = 100'000, .uses = &uses});
  constexpr int keys = 10'000;
  for (int i = 0; i < keys; ++i) table.keep(std::to_string(i), "v");
  for (int i = 0; i < keys; ++i) {
    for (int j = 0; j < 3; ++j) table.get(std::to_string(i));
  }
  std::uint64_t told = 0;
  uses.each_shard([&](auto const& shard) { told += shard.total().reads; }, [] {});
  EXPECT_LE(told, 3u * keys);
  EXPECT_GE(told, 3u * keys - near_thread_cache::lines * near_thread_cache::told_at_once);
}

}  // namespace
}  // namespace herdlock_test
