// The bounds of lasting entries.
#include "algo/lasting_ledger.hpp"

#include <gtest/gtest.h>

#include "key_records_fixture.hpp"

namespace herdlock::algo {
namespace {

class ledger_alone : public alone<lasting_ledger> {
 public:
  ledger_alone(std::size_t entries, std::size_t bytes)
      : alone<lasting_ledger>(lasting_bounds{entries, bytes}) {}
  // True when the entry does not count any more.
  bool misses(std::string_view key) {
    missed(key);
    return !find(key);
  }
};

bool store(lasting_ledger& ledger, std::string_view key, std::size_t bytes) {
  auto const mine = ledger.admit(key, bytes);
  if (mine) ledger.stored(key, *mine);
  return mine.has_value();
}

TEST(LastingLedger, EntriesAreAdmittedUpToEachBoundAndNotBeyond) {
  ledger_alone by_bytes(100, 10);
  EXPECT_TRUE(by_bytes.admit("a", 4)) << "counts from now on";
  EXPECT_TRUE(store(by_bytes, "b", 6));
  EXPECT_FALSE(store(by_bytes, "c", 1));
  EXPECT_EQ(by_bytes.entries(), 2u);
  EXPECT_EQ(by_bytes.bytes(), 10u);
  EXPECT_FALSE(ledger_alone(100, 10).admit("a", 11));

  ledger_alone by_number(2, 100);
  EXPECT_TRUE(store(by_number, "a", 1));
  EXPECT_TRUE(store(by_number, "b", 1));
  EXPECT_FALSE(store(by_number, "c", 1));
}

TEST(LastingLedger, AnEntryTakesThePlaceOfTheOneOfItsKey) {
  ledger_alone ledger(1, 10);
  EXPECT_TRUE(store(ledger, "a", 10));
  EXPECT_TRUE(store(ledger, "a", 9));
  EXPECT_EQ(ledger.bytes(), 9u);
  EXPECT_FALSE(store(ledger, "a", 11)) << "what is there stays";
  EXPECT_EQ(ledger.bytes(), 9u);
  EXPECT_TRUE(store(ledger, "a", 10));
  EXPECT_EQ(ledger.entries(), 1u);
}

TEST(LastingLedger, WhatIsGoneOrWasMissedMakesRoom) {
  ledger_alone ledger(1, 10);
  EXPECT_TRUE(store(ledger, "a", 10));
  ledger.gone("b");
  EXPECT_FALSE(store(ledger, "b", 1));
  ledger.gone("a");
  ledger.gone("a");
  EXPECT_EQ(ledger.bytes(), 0u);
  EXPECT_TRUE(store(ledger, "b", 10));
  EXPECT_TRUE(ledger.misses("b"));
  EXPECT_TRUE(ledger.misses("never there"));
  EXPECT_EQ(ledger.entries(), 0u);
}

TEST(LastingLedger, WhatTheStoreRefusedLeavesWhatWasThere) {
  ledger_alone ledger(2, 10);
  EXPECT_TRUE(store(ledger, "a", 3));
  auto const larger = ledger.admit("a", 7);
  EXPECT_EQ(ledger.bytes(), 7u);
  ledger.refused("a", *larger);
  EXPECT_EQ(ledger.bytes(), 3u);
  auto const new_one = ledger.admit("b", 7);
  ledger.refused("b", *new_one);
  EXPECT_EQ(ledger.entries(), 1u);
  EXPECT_EQ(ledger.bytes(), 3u);
}

TEST(LastingLedger, AnEndThatWasOvertakenChangesNothing) {
  ledger_alone ledger(1, 10);
  auto const first = ledger.admit("a", 3);
  auto const second = ledger.admit("a", 5);
  ledger.stored("a", *second);
  ledger.refused("a", *first);
  EXPECT_EQ(ledger.bytes(), 5u);
  ledger.gone("a");
  ledger.refused("a", *second);
  EXPECT_EQ(ledger.entries(), 0u);
}

TEST(LastingLedger, OfTwoStoresThatWereRefusedNothingCounts) {
  ledger_alone ledger(1, 10);
  auto const first = ledger.admit("a", 3);
  auto const second = ledger.admit("a", 5);
  ledger.refused("a", *first);
  EXPECT_EQ(ledger.bytes(), 5u) << "the other is under way";
  ledger.refused("a", *second);
  EXPECT_EQ(ledger.entries(), 0u);
  EXPECT_EQ(ledger.bytes(), 0u);
}

TEST(LastingLedger, OfTwoStoresTheOneThatArrivedCounts) {
  ledger_alone ledger(1, 10);
  auto const first = ledger.admit("a", 3);
  auto const second = ledger.admit("a", 5);
  ledger.stored("a", *first);
  ledger.refused("a", *second);
  EXPECT_EQ(ledger.bytes(), 3u);
  EXPECT_TRUE(ledger.misses("a"));
}

TEST(LastingLedger, BehindItsCloseNothingCounts) {
  ledger_alone ledger(2, 10);
  auto const mine = ledger.admit("a", 3);
  EXPECT_TRUE(store(ledger, "b", 4));
  ledger.close();
  ledger.refused("a", *mine);
  ledger.missed("b");
  ledger.gone("b");
  EXPECT_FALSE(ledger.admit("c", 1));
  EXPECT_EQ(ledger.entries(), 0u);
  EXPECT_EQ(ledger.bytes(), 0u);
}

TEST(LastingLedger, AnEntryThatIsOnItsWayIsNotMissed) {
  ledger_alone ledger(1, 10);
  auto const mine = ledger.admit("a", 3);
  EXPECT_FALSE(ledger.misses("a"));
  ledger.stored("a", *mine);
  EXPECT_EQ(ledger.entries(), 1u);
  EXPECT_TRUE(ledger.misses("a"));
}

}  // namespace
}  // namespace herdlock::algo
