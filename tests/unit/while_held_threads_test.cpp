// Work under a lease on an executor that several threads run.
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <herdlock/while_held.hpp>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace herdlock;

// Suspends as often as it can, so that the loss meets it anywhere.
asio::awaitable<void> restless() {
  for (;;) {
    asio::steady_timer brief(co_await asio::this_coro::executor, 1us);
    co_await brief.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> hold(lease const& held) {
  auto work = restless();
  co_await while_held(held, std::move(work));
}

asio::awaitable<bool> hold_with(lock where) {
  acquire_options const brief{.ttl = 60ms, .renew = renewal::none};
  auto const work = [](lease&) -> asio::awaitable<void> { return restless(); };
  auto working = async_with(std::move(where), brief, work);
  co_return co_await std::move(working);
}

class WhileHeldThreads : public testing::TestWithParam<std::size_t> {
 protected:
  // False: on a slow machine the grant came too late to be held.
  static bool ended(std::future<bool>& work) { return work.get(); }
  static bool ended(std::future<void>& work) {
    work.get();
    return true;
  }

  template <class T>
  static void expect_lost(std::future<T>& work) {
    try {
      EXPECT_FALSE(ended(work)) << "the loss was not told";
    } catch (error const& e) {
      EXPECT_EQ(e.code(), errc::lost) << e.what();
    }
  }

  std::string job(int i) const { return "job" + std::to_string(i); }

  asio::thread_pool pool{GetParam()};
  store opened = open_store("memory:");
};

TEST_P(WhileHeldThreads, ManyLossesAtOnceEndTheirWorkAndNothingElse) {
  for (int round = 0; round < 4; ++round) {
    std::vector<lease> held;
    std::vector<std::future<void>> works;
    for (int i = 0; i < 100; ++i) {
      auto got = lock(opened, job(i)).try_acquire({.ttl = 60ms, .renew = renewal::none});
      if (got) held.push_back(std::move(*got));
    }
    for (auto const& one : held) works.push_back(asio::co_spawn(pool, hold(one), asio::use_future));
    for (auto& work : works) expect_lost(work);
  }
}

TEST_P(WhileHeldThreads, TheFormThatAcquiresDoesTheSame) {
  for (int round = 0; round < 4; ++round) {
    std::vector<std::future<bool>> works;
    for (int i = 0; i < 100; ++i) {
      works.push_back(asio::co_spawn(pool, hold_with({opened, job(i)}), asio::use_future));
    }
    for (auto& work : works) expect_lost(work);
  }
}

INSTANTIATE_TEST_SUITE_P(, WhileHeldThreads, testing::Values(2, 4),
                         [](auto const& one) { return std::to_string(one.param) + "_threads"; });

}  // namespace
