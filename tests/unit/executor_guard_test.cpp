// A store on an executor that the caller gave it.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <herdlock/lock.hpp>

namespace {

using namespace herdlock;

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
        asio::post(opened->get_executor(), [&] { lock(*opened, "stock").try_acquire(); });
        io.run_one();
      },
      "waits for itself");
}

INSTANTIATE_TEST_SUITE_P(, ExecutorGuardTest,
                         testing::Values(executor_guard::strand, executor_guard::none),
                         [](auto const& one) {
                           return one.param == executor_guard::none ? "none" : "strand";
                         });

}  // namespace
