// Who waits for a lock that his own store holds.
#include <gtest/gtest.h>

#include "scripted_lock.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using herdlock::scripted::LockTest;
using herdlock::scripted::outcome;

// Nothing was said while a thread waited for itself.
TEST_F(LockTest, AWaitForALeaseOfTheSameStoreIsWarnedOfAsItBegins) {
  auto const held = take();
  lock const other(*f.opened, "orders/43");
  outcome tried, elsewhere, first, second;
  tried.start(where);
  elsewhere.start(other, {.wait = 1min});
  f.settle();
  EXPECT_TRUE(f.opened->warnings().empty()) << f.opened->warnings().front();
  first.start(where, {.wait = 1min});
  second.start(where, {.wait = 1min});
  f.settle();
  ASSERT_EQ(f.opened->warnings().size(), 1u) << "unanswered yet, and once for each resource";
  auto const told = f.opened->warnings().front();
  EXPECT_NE(told.find("'orders/42'"), std::string::npos) << told;
  EXPECT_NE(told.find("a lock is not reentrant"), std::string::npos) << told;
}

TEST_F(LockTest, AWaitBehindALeaseThatWasReleasedIsNotWarnedOf) {
  { auto const given_back = take(); }
  outcome o;
  o.start(where, {.wait = 1min});
  f.settle();
  EXPECT_TRUE(f.opened->warnings().empty()) << f.opened->warnings().front();
}

}  // namespace
