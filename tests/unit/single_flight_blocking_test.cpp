#include <gtest/gtest.h>

#include <atomic>
#include <herdlock/single_flight.hpp>
#include <thread>
#include <vector>

#include "support/gate.hpp"

namespace herdlock {
namespace {

using namespace std::chrono_literals;
using herdlock_test::eventually;

TEST(single_flight, BlockedCallersShareOneOperation) {
  single_flight<int> flights;
  std::atomic<int> begun{0};
  herdlock_test::gate go;
  std::vector<std::thread> threads;
  std::atomic<int> sum{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      sum += flights.run("a", [&] {
        ++begun;
        EXPECT_TRUE(go.wait());
        return 7;
      });
    });
  }
  EXPECT_TRUE(eventually([&] { return flights.waiting("a") == 8; }));
  go.open();
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(sum, 56);
}

TEST(single_flight, ABlockedCallersExceptionIsShared) {
  single_flight<int> flights;
  EXPECT_THROW(flights.run("a", []() -> int { throw std::runtime_error("no"); }),
               std::runtime_error);
  EXPECT_EQ(flights.run("a", [] { return 1; }), 1) << "the failed flight is over";
}

TEST(single_flight, ABlockedCallerGivesUpAtItsDeadlineAndTheOthersDoNot) {
  single_flight<int> flights;
  herdlock_test::gate go;
  std::thread leader([&] { EXPECT_EQ(flights.run("a", [&] { return go.wait() ? 7 : 0; }), 7); });
  EXPECT_TRUE(eventually([&] { return flights.waiting("a") == 1; }));
  try {
    flights.run_until("a", clock::now() + 1ms, [] { return 0; });
    ADD_FAILURE() << "did not give up";
  } catch (error const& why) {
    EXPECT_EQ(why.code(), make_error_code(errc::timed_out));
  }
  EXPECT_EQ(flights.waiting("a"), 1u);
  go.open();
  leader.join();
}

}  // namespace
}  // namespace herdlock
