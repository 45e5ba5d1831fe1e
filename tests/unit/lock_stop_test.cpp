// A blocking acquisition that is stopped from another thread.
#include <gtest/gtest.h>

#include <future>
#include <herdlock/lock.hpp>
#include <herdlock/metrics.hpp>
#include <optional>
#include <stop_token>
#include <support/eventually.hpp>
#include <tuple>

#include "scripted_lease_store.hpp"

namespace herdlock::scripted {
namespace {

using namespace std::chrono_literals;

// What it came to: the error, or success for a lease and for none.
std::future<failure> acquire_elsewhere(lock const& where, std::stop_token stop) {
  return std::async(std::launch::async, [where, stop = std::move(stop)] {
    try {
      std::ignore = where.acquire({.wait = 1h}, stop);
    } catch (error const& why) {
      return make_failure(errc(why.code().value()), why.what());
    }
    return failure{};
  });
}

class LockStop : public ::testing::Test {
 protected:
  bool one_waits() {
    return herdlock_test::eventually([this] { return opened.metrics().waiting == 1; });
  }

  store const opened = open_store("memory:");
  lock const where{opened, "stock"};
  std::stop_source stop;
};

TEST_F(LockStop, ItEndsTheWaitAndLeavesNoWaiter) {
  acquired const held = where.try_acquire();
  ASSERT_TRUE(held);
  auto waiting = acquire_elsewhere(where, stop.get_token());
  ASSERT_TRUE(one_waits());
  stop.request_stop();
  ASSERT_EQ(waiting.wait_for(herdlock_test::patience), std::future_status::ready);
  EXPECT_EQ(waiting.get(), errc::canceled);
  EXPECT_EQ(opened.metrics().waiting, 0u);
  EXPECT_EQ(where.inspect().value().waiting, 0u);
}

TEST_F(LockStop, OneThatWasThereFirstAsksForNothing) {
  stop.request_stop();
  auto asking = acquire_elsewhere(where, stop.get_token());
  ASSERT_EQ(asking.wait_for(herdlock_test::patience), std::future_status::ready);
  EXPECT_EQ(asking.get(), errc::canceled);
  EXPECT_EQ(opened.metrics().acquired, 0u);
}

TEST_F(LockStop, OneThatDoesNotComeChangesNothing) {
  EXPECT_TRUE(where.acquire({}, stop.get_token()));
  EXPECT_TRUE(where.acquire({}, std::stop_token()));
}

// On an executor of the caller's, which the test runs.
class ScriptedLockStop : public ::testing::Test {
 protected:
  scripted_fixture f;
  std::stop_source stop;
};

TEST_F(ScriptedLockStop, AGrantThatCrossesItIsGivenBack) {
  auto waiting = acquire_elsewhere(lock(*f.opened, "stock"), stop.get_token());
  auto const is_over = [&] { return waiting.wait_for(0s) == std::future_status::ready; };
  ASSERT_TRUE(f.run_until([&] { return !f.script->acquires.empty(); }));
  stop.request_stop();
  ASSERT_TRUE(f.run_until(is_over));
  EXPECT_EQ(waiting.get(), errc::canceled);
  f.script->grant_next(7);
  EXPECT_TRUE(f.run_until([&] { return !f.script->releases.empty(); }));
}

}  // namespace
}  // namespace herdlock::scripted
