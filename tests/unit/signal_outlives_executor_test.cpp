// A cancellation signal that outlives the store's executor, as one does that is declared in front
// of its io_context. An operation leaves its handler in the signal's slot: by the end there must be
// nothing of the executor in it. The address sanitizer sees what is not so.
#include <gtest/gtest.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <future>
#include <memory>
#include <optional>
#include <thread>

#include <herdlock/cache.hpp>
#include <herdlock/election.hpp>
#include <herdlock/lock.hpp>

#include "support/as_result.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;
using text = std::optional<std::string>;

class SignalOutlivesExecutorTest : public testing::Test {
 protected:
  // The store goes, then its executor; then somebody uses the signal, which goes last.
  ~SignalOutlivesExecutorTest() override {
    opened.reset();
    if (io) run();
    io.reset();
    stop.emit(asio::cancellation_type::all);
  }

  void run() {
    io->restart();
    io->poll();
  }

  auto token() {
    return asio::bind_cancellation_slot(stop.slot(), [this](auto const&) { ++told; });
  }

  lock stock() const { return {*opened, resource("stock")}; }

  lease take() {
    acquired held;
    stock().async_try_acquire(
        {}, herdlock_test::as_result([&](result<acquired> got) { held = std::move(got.value()); }));
    run();
    return std::move(held.value());
  }

  asio::cancellation_signal stop;
  std::optional<asio::io_context> io{std::in_place, 1};
  std::optional<store> opened = open_store("memory:", {.executor = io->get_executor()});
  int told = 0;
};

TEST_F(SignalOutlivesExecutorTest, OutlivesAnAcquisition) {
  stock().async_try_acquire({}, herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesAWaitThatWasGranted) {
  {
    auto held = take();
    stock().async_acquire({.wait = 1min}, herdlock_test::as_result(token()));
    run();
    EXPECT_EQ(told, 0);
  }
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesAWaitThatWasCancelled) {
  auto held = take();
  stock().async_acquire({.wait = 1min}, herdlock_test::as_result(token()));
  run();
  stop.emit(asio::cancellation_type::all);
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesARestoration) {
  stock().async_restore(take().detach(), {}, herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesAWaitForALoss) {
  {
    auto held = take();
    held.async_wait_lost(herdlock_test::as_result(token()));
    run();
  }
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesARelease) {
  auto held = take();
  held.async_release(herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesAnInspection) {
  stock().async_inspect(herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesAListing) {
  opened->async_list({}, herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesACampaign) {
  auto work = [](election_term& term) -> asio::awaitable<void> { co_await term.until_stop(); };
  election job(*opened, resource("job"), {.start_work = work});
  job.async_campaign(herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(job.state(), election_state::working);
  stop.emit(asio::cancellation_type::all);
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesAResignation) {
  auto work = [](election_term& term) -> asio::awaitable<void> { co_await term.until_stop(); };
  election job(*opened, resource("job"), {.start_work = work});
  job.async_campaign(herdlock_test::as_result([](result<void> const&) {}));
  run();
  job.async_resign(herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesALook) {
  cache<std::string>(*opened).async_get(cache_key("k"), herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesALoad) {
  cache<std::string> strings(*opened);
  auto load = [](load_context) -> asio::awaitable<text> { co_return "loaded"; };
  strings.async_get_or_load(cache_key("k"), load, herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 1);
}

TEST_F(SignalOutlivesExecutorTest, OutlivesChangesOfACache) {
  cache<std::string> strings(*opened);
  strings.async_put(cache_key("k"), std::string("put"), herdlock_test::as_result(token()));
  run();
  strings.async_invalidate(cache_key("k"), herdlock_test::as_result(token()));
  run();
  EXPECT_EQ(told, 2);
}

// The call has been answered; the thread of the cache's that loads goes on.
TEST_F(SignalOutlivesExecutorTest, ALoadersThreadMayOutliveTheExecutor) {
  std::promise<void> go;
  auto const gone = std::make_shared<std::promise<void>>();
  std::shared_ptr<void> mark(nullptr, [gone](void*) { gone->set_value(); });
  auto load = [end = go.get_future().share(), mine = std::move(mark)](load_context const&) -> text {
    end.wait();
    return "late";
  };
  {
    std::optional<cache<std::string>> strings(std::in_place, *opened, cache_options{.wait = 20ms},
                                              std::move(load));
    auto work = asio::make_work_guard(*io);
    std::thread runner([&] { io->run(); });
    EXPECT_THROW(strings->get_or_load(cache_key("k")), error);
    // On the executor the last handle waits for nobody.
    asio::post(*io, [&] { strings.reset(); });
    asio::post(*io, [&] { io->stop(); });
    runner.join();
  }
  opened.reset();
  io.reset();
  go.set_value();
  EXPECT_EQ(gone->get_future().wait_for(10s), std::future_status::ready);
}

}  // namespace
