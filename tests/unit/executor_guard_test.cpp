// A store on an executor that the caller gave it.
#include <gtest/gtest.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <herdlock/lock.hpp>
#include <thread>

#include "runtime/blocking.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;

class ExecutorGuardTest : public testing::TestWithParam<executor_guard> {
 protected:
  ~ExecutorGuardTest() override {
    opened.reset();
    io.restart();
    io.run();
  }

  asio::io_context io{1};
  std::optional<store> opened =
      open_store("memory:", {.executor = io.get_executor(), .guard = GetParam()});
};

TEST_P(ExecutorGuardTest, OnlyAStrandIsPutAroundIt) {
  bool const as_it_is = opened->get_executor() == asio::any_io_executor(io.get_executor());
  EXPECT_EQ(as_it_is, GetParam() == executor_guard::none);
}

TEST_P(ExecutorGuardTest, AcquiresAndReleasesOutsideTheInitiatingCall) {
  std::optional<release_reply> told;
  lock const where(*opened, "stock");
  bool inside = true;
  asio::post(io, [&] {
    where.async_try_acquire({}, [&](result<acquired> got) {
      EXPECT_FALSE(inside);
      auto held = std::move(got.value().value());
      held.async_release([&told](result<release_reply> reply) { told = reply.value(); });
    });
    inside = false;
  });
  while (!told) io.run_one();
  EXPECT_EQ(told, release_reply::released);
}

TEST_P(ExecutorGuardTest, ABlockingCallOnTheOnlyThreadIsRefused) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        asio::post(opened->get_executor(),
                   [&] { std::ignore = lock(*opened, "stock").try_acquire(); });
        io.run_one();
      },
      "waits for itself");
}

TEST_P(ExecutorGuardTest, ABlockingCallEndsWhereNobodyRunsTheExecutor) {
  handler<int> pending;
  auto const told = runtime::wait_for<int>(
      *opened->context(), [&](handler<int> done) { pending = std::move(done); }, 50ms);
  ASSERT_TRUE(told.has_error());
  EXPECT_EQ(told.error(), errc::timed_out);
  EXPECT_NE(told.error().message.find("nobody runs the executor"), std::string::npos);
}

// The wait is as long as it has to be, while somebody runs it.
TEST_P(ExecutorGuardTest, ABlockingCallWaitsOnWhileTheExecutorLives) {
  auto work = asio::make_work_guard(io);
  std::thread runner([&] { io.run(); });
  asio::steady_timer late(io, 200ms);
  auto const told = runtime::wait_for<int>(
      *opened->context(),
      [&](handler<int> done) {
        late.async_wait([done = std::move(done)](auto const&) mutable { std::move(done)(7); });
      },
      20ms);
  work.reset();
  io.stop();
  runner.join();
  EXPECT_EQ(told.value(), 7);
}

INSTANTIATE_TEST_SUITE_P(, ExecutorGuardTest,
                         testing::Values(executor_guard::strand, executor_guard::none),
                         [](auto const& one) {
                           return one.param == executor_guard::none ? "none" : "strand";
                         });

TEST(ThreadPoolTest, ABlockingCallOnTheStoresOwnStrandIsRefused) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  auto const call = [] {
    asio::thread_pool pool(2);
    auto const opened = open_store("memory:", {.executor = pool.get_executor()});
    std::promise<void> over;
    asio::post(opened.get_executor(), [&] {
      std::ignore = lock(opened, "stock").try_acquire();
      over.set_value();
    });
    over.get_future().wait_for(2s);
    std::_Exit(0);
  };
  EXPECT_DEATH(call(), "waits for itself");
}

}  // namespace
