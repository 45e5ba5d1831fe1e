// The judge of the stampede, shown a forged fault for each check.
#include <gtest/gtest.h>

#include "broken.hpp"
#include "scenes/stampede_figures.hpp"

namespace {

using namespace herdlock::lab;
using herdlock_test::broken_of;
using verdict = right_products::verdict;

guard_mode const plain{.name = "plain", .does = "", .make = nullptr};
guard_mode const stale{.name = "stale", .does = "", .make = nullptr, .serves_old = true};

TEST(StampedeJudge, TheProductOfTheExpiryIsRightInEveryMode) {
  EXPECT_EQ(right_products(plain, 7).judged(product_at(7)), verdict::fresh);
  EXPECT_EQ(right_products(stale, 7).judged(product_at(7)), verdict::fresh);
}

TEST(StampedeJudge, TheProductBeforeIsRightOnlyWhereStaleOnesAreServed) {
  EXPECT_EQ(right_products(plain, 7).judged(product_at(6)), verdict::wrong);
  EXPECT_EQ(right_products(stale, 7).judged(product_at(6)), verdict::old);
}

TEST(StampedeJudge, OlderOrNewerOrChangedProductsAreWrong) {
  right_products const right(stale, 7);
  EXPECT_EQ(right.judged(product_at(5)), verdict::wrong);
  EXPECT_EQ(right.judged(product_at(8)), verdict::wrong);
  product changed = product_at(7);
  changed.price_cents += 1;
  EXPECT_EQ(right.judged(changed), verdict::wrong);
  EXPECT_EQ(right.judged({}), verdict::wrong);
}

TEST(StampedeJudge, DemandsARightAnswerForEachRequest) {
  stampede_orders orders;
  orders.mode = &plain;
  stampede_outcome outcome(orders);
  outcome.answers = 600;
  EXPECT_EQ(broken_of([&](judge& by) { judge_stampede(outcome, by); }), "");
  outcome.errors = 1;
  outcome.first_error = "forged";
  EXPECT_EQ(broken_of([&](judge& by) { judge_stampede(outcome, by); }),
            "plain: 1 without a right answer; the first: forged");
}

}  // namespace
