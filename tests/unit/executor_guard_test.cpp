// A store on an executor that the caller gave it.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <herdlock/cache.hpp>
#include <herdlock/lock.hpp>
#include <herdlock/metrics.hpp>
#include <thread>

#include "runtime/store_context.hpp"
#include "support/as_result.hpp"

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

  // Does the call end because nobody runs the executor?
  template <class Call>
  bool is_given_up(Call&& call) {
    detail::context_of(*opened)->set_patience(50ms);
    try {
      call();
    } catch (error const& e) {
      return e.code() == make_error_code(errc::timed_out) &&
             std::string_view(e.what()).find("nobody runs the executor") != std::string_view::npos;
    }
    return false;
  }

  void settle() {
    io.restart();
    io.poll();
  }

  lease_info who_has_it() {
    std::optional<lease_info> found;
    lock(*opened, "stock")
        .async_inspect(herdlock_test::as_result([&](result<std::optional<lease_info>> told) {
          found = told.value().value_or(lease_info{});
        }));
    settle();
    return found.value();
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
    where.async_try_acquire({}, herdlock_test::as_result([&](result<acquired> got) {
                              EXPECT_FALSE(inside);
                              auto held = std::move(got.value().value());
                              held.async_release(herdlock_test::as_result(
                                  [&told](result<release_reply> reply) { told = reply.value(); }));
                            }));
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
  lock const where(*opened, "stock");
  EXPECT_TRUE(is_given_up([&] { std::ignore = where.acquire({}); }));
  EXPECT_TRUE(is_given_up([&] { std::ignore = where.inspect(); }));
  EXPECT_TRUE(is_given_up([&] { where.force_release(); }));
}

TEST_P(ExecutorGuardTest, ABlockingCacheCallEndsWhereNobodyRunsTheExecutor) {
  cache<std::string> const strings(*opened);
  cache_key const key("k");
  std::atomic<int> loads = 0;
  auto load = [&](load_context const&) {
    ++loads;
    return std::optional<std::string>("loaded");
  };
  EXPECT_TRUE(is_given_up([&] { strings.get_or_load(key, load); }));
  EXPECT_TRUE(is_given_up([&] { strings.get(key); }));
  EXPECT_TRUE(is_given_up([&] { strings.invalidate(key); }));
  EXPECT_TRUE(is_given_up([&] { strings.put(key, "put"); }));
  settle();
  EXPECT_EQ(loads, 0) << "for a caller who had gone";
  EXPECT_GE(strings.stats().canceled, 1u);
}

// B7: a waiter that nobody answers for.
TEST_P(ExecutorGuardTest, AWaitThatWasGivenUpLeavesTheQueue) {
  acquired held;
  lock const where(*opened, "stock");
  where.async_try_acquire(
      {}, herdlock_test::as_result([&](result<acquired> got) { held = std::move(got.value()); }));
  settle();
  ASSERT_TRUE(held);
  auto const wait = [&] { std::ignore = where.acquire({.wait = std::chrono::hours(1)}); };
  EXPECT_TRUE(is_given_up(wait));
  settle();
  EXPECT_EQ(opened->metrics().waiting, 0u);
}

TEST_P(ExecutorGuardTest, AGrantThatComesAfterTheCallerHasGoneIsGivenBack) {
  lock const where(*opened, "stock");
  EXPECT_TRUE(is_given_up([&] { std::ignore = where.acquire({}); }));
  settle();
  EXPECT_EQ(who_has_it().fencing.value, 0u) << "it is held";
}

// Who was told that a restoration failed still has the ticket.
TEST_P(ExecutorGuardTest, ALeaseThatIsRestoredForNobodyIsNotGivenBack) {
  lock const where(*opened, "stock");
  std::optional<lease_ticket> ticket;
  where.async_try_acquire({}, herdlock_test::as_result([&](result<acquired> got) {
                            ticket = std::move(*got.value()).detach();
                          }));
  settle();
  EXPECT_TRUE(is_given_up([&] { std::ignore = where.restore(ticket.value()); }));
  settle();
  EXPECT_EQ(who_has_it().fencing, ticket.value().fencing);
}

// The wait is as long as it has to be, while somebody runs it. The patience is longer than a loaded
// machine keeps a thread from running, the wait is longer still.
TEST_P(ExecutorGuardTest, ABlockingCallWaitsOnWhileTheExecutorLives) {
  detail::context_of(*opened)->set_patience(2s);
  auto work = asio::make_work_guard(io);
  std::thread runner([&] { io.run(); });
  asio::steady_timer late(io, 3s);
  auto const start = [&](handler<int> done) {
    late.async_wait([done = std::move(done)](auto const&) mutable { std::move(done)(7); });
  };
  auto const told = detail::wait_for<int>(*detail::context_of(*opened), start);
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

// It runs the executor, if it did not wait: on the strand itself the call is refused.
TEST(ThreadThatRunsTheExecutor, IsTheOneThatABlockingCallNames) {
  asio::io_context io{1};
  {
    auto const opened = open_store("memory:", {.executor = io.get_executor()});
    detail::context_of(opened)->set_patience(50ms);
    cache<std::string> const strings(opened);
    auto const says = [](auto call) {
      try {
        call();
      } catch (error const& why) {
        return std::string(why.what());
      }
      return std::string();
    };
    std::vector<std::string> said;
    asio::post(io, [&] {
      said = {says([&] { std::ignore = lock(opened, "stock").try_acquire(); }),
              says([&] { strings.get_or_load("k", [] { return std::string("loaded"); }); })};
    });
    io.poll();
    ASSERT_EQ(said.size(), 2u);
    for (auto const& why : said) EXPECT_NE(why.find("this very thread"), std::string::npos) << why;
  }
  io.restart();
  io.run();
}

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
