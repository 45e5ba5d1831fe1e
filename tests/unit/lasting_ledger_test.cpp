// The bounds of lasting entries.
#include "algo/lasting_ledger.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

TEST(LastingLedger, EntriesAreAdmittedUpToEachBoundAndNotBeyond) {
  lasting_ledger by_bytes({100, 10});
  EXPECT_TRUE(by_bytes.admit("a", 4));
  EXPECT_TRUE(by_bytes.admit("b", 6));
  EXPECT_FALSE(by_bytes.admit("c", 1));
  EXPECT_EQ(by_bytes.entries(), 2u);
  EXPECT_EQ(by_bytes.bytes(), 10u);
  EXPECT_FALSE(lasting_ledger({100, 10}).admit("a", 11));

  lasting_ledger by_number({2, 100});
  EXPECT_TRUE(by_number.admit("a", 1));
  EXPECT_TRUE(by_number.admit("b", 1));
  EXPECT_FALSE(by_number.admit("c", 1));
}

TEST(LastingLedger, AnEntryTakesThePlaceOfTheOneOfItsKey) {
  lasting_ledger ledger({1, 10});
  EXPECT_TRUE(ledger.admit("a", 10));
  EXPECT_TRUE(ledger.admit("a", 9));
  EXPECT_EQ(ledger.bytes(), 9u);
  EXPECT_FALSE(ledger.admit("a", 11)) << "what is there stays";
  EXPECT_EQ(ledger.bytes(), 9u);
  EXPECT_TRUE(ledger.admit("a", 10));
  EXPECT_EQ(ledger.entries(), 1u);
}

TEST(LastingLedger, WhatIsGoneMakesRoom) {
  lasting_ledger ledger({1, 10});
  EXPECT_TRUE(ledger.admit("a", 10));
  ledger.gone("b");
  EXPECT_FALSE(ledger.admit("b", 1));
  ledger.gone("a");
  ledger.gone("a");
  EXPECT_EQ(ledger.bytes(), 0u);
  EXPECT_TRUE(ledger.admit("b", 10));
}

}  // namespace
}  // namespace herdlock::algo
