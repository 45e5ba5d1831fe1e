// For how long what failed for a key is not tried again, with a clock of the test's own.
#include "algo/key_pauses.hpp"

#include <gtest/gtest.h>

namespace herdlock::algo {
namespace {

clock::time_point at(int ms) { return clock::time_point(milliseconds{1'000'000 + ms}); }

// S15
TEST(KeyPauses, EachFailureInARowDoublesThePauseOfItsKey) {
  key_pauses keys({milliseconds{500}, milliseconds{1500}, 8});
  EXPECT_FALSE(keys.pauses("k", at(0)));
  keys.failed("k", at(0));
  EXPECT_TRUE(keys.pauses("k", at(499)));
  EXPECT_FALSE(keys.pauses("k", at(500)));
  EXPECT_FALSE(keys.pauses("another", at(0)));
  keys.failed("k", at(500));
  EXPECT_TRUE(keys.pauses("k", at(1499)));
  EXPECT_FALSE(keys.pauses("k", at(1500)));
  keys.failed("k", at(1500));
  EXPECT_TRUE(keys.pauses("k", at(2999))) << "the longest";
  EXPECT_FALSE(keys.pauses("k", at(3000)));
}

TEST(KeyPauses, AKeyIsForgottenWhenNothingHasFailedForAsLongAgain) {
  key_pauses keys({milliseconds{500}, milliseconds{60'000}, 8});
  keys.failed("k", at(0));
  keys.failed("k", at(600));  // to 1600, and forgotten at 2600
  keys.failed("other", at(2599));
  EXPECT_EQ(keys.size(), 2u);
  keys.failed("other", at(4000));
  EXPECT_EQ(keys.size(), 1u);
  keys.failed("k", at(4001));
  EXPECT_FALSE(keys.pauses("k", at(4501))) << "as at the first time";
}

TEST(KeyPauses, WhatIsForgottenIsTriedAgain) {
  key_pauses keys;
  keys.failed("k", at(0));
  keys.forget("k");
  EXPECT_FALSE(keys.pauses("k", at(1)));
}

TEST(KeyPauses, OneKeyBeyondTheBoundIsNotRemembered) {
  key_pauses keys({milliseconds{500}, milliseconds{1000}, 2});
  keys.failed("a", at(0));
  keys.failed("b", at(0));
  keys.failed("c", at(0));
  EXPECT_TRUE(keys.pauses("a", at(1)));
  EXPECT_TRUE(keys.pauses("b", at(1)));
  EXPECT_FALSE(keys.pauses("c", at(1)));
  EXPECT_EQ(keys.size(), 2u);
}

}  // namespace
}  // namespace herdlock::algo
