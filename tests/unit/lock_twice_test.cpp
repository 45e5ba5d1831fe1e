// A thread that waits for a lock that it holds itself.
#include <gtest/gtest.h>

#include <herdlock/lock.hpp>
#include <herdlock/metrics.hpp>
#include <herdlock/open.hpp>
#include <string>
#include <support/eventually.hpp>
#include <thread>
#include <tuple>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using herdlock_test::eventually;

struct LockTwice : testing::Test {
  store opened = open_store("memory:");
  lock where{opened, "orders/42"};
};

// Nothing was said while a thread waited for itself.
TEST_F(LockTwice, AThreadThatWaitsForItselfIsWarnedOfAsItBegins) {
  std::jthread const waits([&](std::stop_token stop) {
    auto const held = where.try_acquire();
    EXPECT_TRUE(held.has_value());
    std::ignore = lock(opened, "orders/43").acquire({.wait = 1min}).has_value();
    EXPECT_EQ(opened.warnings(), std::vector<std::string>());
    EXPECT_THROW(std::ignore = where.acquire({.wait = 1min}, stop), error) << "it is stopped";
  });
  ASSERT_TRUE(eventually([&] { return !opened.warnings().empty(); })) << "the wait goes on";
  auto const told = opened.warnings().front();
  EXPECT_NE(told.find("'orders/42'"), std::string::npos) << told;
  EXPECT_NE(told.find("a lock is not reentrant"), std::string::npos) << told;
}

TEST_F(LockTwice, OneThatWaitsForAnotherIsNot) {
  auto held = where.try_acquire();
  std::jthread const waits([&] { EXPECT_TRUE(where.acquire({.wait = 1min}).has_value()); });
  ASSERT_TRUE(eventually([&] { return opened.metrics().waiting == 1; }));
  held.reset();
}

TEST_F(LockTwice, OneWhoseLeaseWasGivenBackIsNot) {
  std::ignore = where.acquire({.wait = 1min}).has_value();
  std::ignore = where.acquire({.wait = 1min}).has_value();
  EXPECT_EQ(opened.warnings(), std::vector<std::string>());
}

}  // namespace
