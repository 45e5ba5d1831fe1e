// Callers that give up while they wait, at every point of a hand-over.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <vector>

#include "keyed_mutex_arrivals.hpp"
#include "local/keyed_mutex_core.hpp"
#include "support/as_result.hpp"

namespace herdlock {
namespace {

using namespace std::chrono_literals;
using guard = keyed_mutex::guard;

class keyed_mutex_cancellation : public testing::TestWithParam<asio::cancellation_type> {};

TEST_P(keyed_mutex_cancellation, TakesTheWaiterOutOfTheQueue) {
  keyed_mutex mutex;
  asio::io_context io;
  arrivals seen;
  asio::cancellation_signal signal;
  guard held = mutex.lock("a");
  mutex.async_lock("a", herdlock_test::as_result(asio::bind_executor(io, seen.note(1))));
  mutex.async_lock("a", herdlock_test::as_result(asio::bind_cancellation_slot(
                            signal.slot(), asio::bind_executor(io, seen.note(2)))));
  mutex.async_lock("a", herdlock_test::as_result(asio::bind_executor(io, seen.note(3))));
  signal.emit(GetParam());
  EXPECT_EQ(mutex.waiting("a"), 2u);
  EXPECT_EQ(io.poll(), 1u);
  ASSERT_EQ(seen.order, std::vector<int>{2});
  EXPECT_TRUE(seen.got[0].error() == errc::canceled);
  held.unlock();
  io.poll();
  ASSERT_EQ(seen.order, (std::vector<int>{2, 1}));
  seen.got[1]->unlock();
  io.poll();
  EXPECT_EQ(seen.order, (std::vector<int>{2, 1, 3}));
}

INSTANTIATE_TEST_SUITE_P(EveryType, keyed_mutex_cancellation,
                         testing::Values(asio::cancellation_type::terminal,
                                         asio::cancellation_type::partial,
                                         asio::cancellation_type::total));

// B7: a grant that crosses the cancellation is delivered, not lost.
TEST(keyed_mutex, ACancellationAfterTheHandOverChangesNothing) {
  keyed_mutex mutex;
  asio::io_context io;
  arrivals seen;
  asio::cancellation_signal signal;
  guard held = mutex.lock("a");
  mutex.async_lock("a", herdlock_test::as_result(asio::bind_cancellation_slot(
                            signal.slot(), asio::bind_executor(io, seen.note(1)))));
  held.unlock();
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_EQ(io.run(), 1u);
  ASSERT_TRUE(seen.got.at(0).has_value());
  seen.got.clear();
  EXPECT_TRUE(mutex.try_lock("a"));
}

TEST(keyed_mutex, ACancellationAfterTheMutexIsGoneDoesNothing) {
  asio::io_context io;
  arrivals seen;
  asio::cancellation_signal signal;
  {
    keyed_mutex mutex;
    guard held = mutex.lock("a");
    mutex.async_lock("a", herdlock_test::as_result(asio::bind_cancellation_slot(
                              signal.slot(), asio::bind_executor(io, seen.note(1)))));
    held.unlock();
    io.run();
    seen.got.clear();
  }
  signal.emit(asio::cancellation_type::terminal);
  io.restart();
  EXPECT_EQ(io.poll(), 0u) << "nothing is left to do";
}

// B7, B9: the context of a granted handler is destroyed before the handler ran.
TEST(keyed_mutex, AGuardWhoseHandlerIsDroppedIsUnlocked) {
  keyed_mutex mutex;
  {
    asio::io_context io;
    mutex.async_lock(
        "a", herdlock_test::as_result(asio::bind_executor(io, [](result<guard>) { FAIL(); })));
    EXPECT_FALSE(mutex.try_lock("a"));
  }
  EXPECT_TRUE(mutex.try_lock("a"));
}

TEST(keyed_mutex, CancelAfterEndsTheWait) {
  keyed_mutex mutex;
  asio::io_context io;
  arrivals seen;
  guard held = mutex.lock("a");
  mutex.async_lock("a", herdlock_test::as_result(
                            asio::cancel_after(1ms, asio::bind_executor(io, seen.note(1)))));
  io.run();
  ASSERT_EQ(seen.got.size(), 1u);
  EXPECT_TRUE(seen.got[0].error() == errc::canceled);
  EXPECT_EQ(mutex.waiting("a"), 0u);
}

// B7, B9, B20: cancellations that cross hand-overs at every point; each caller gets exactly one
// answer, and no key stays locked.
TEST(keyed_mutex, NoHandOverIsLostWhenCancellationsCrossIt) {
  asio::thread_pool pool(3);
  keyed_mutex mutex;
  std::atomic<int> granted{0};
  std::atomic<int> canceled{0};
  int inside = 0;  // guarded by the key
  auto caller = [&](int seed) -> asio::awaitable<void> {
    for (int i = 0; i < 200; ++i) {
      auto patience = std::chrono::microseconds((seed * 31 + i * 17) % 60);
      result<guard> held = co_await mutex.async_lock(
          "a", herdlock_test::as_result(asio::cancel_after(patience, asio::deferred)));
      if (!held) {
        EXPECT_TRUE(held.error() == errc::canceled);
        ++canceled;
        continue;
      }
      ++inside;
      ++granted;
      co_await asio::post(asio::deferred);
    }
  };
  std::vector<std::future<void>> callers;
  for (int c = 0; c < 20; ++c) {
    callers.push_back(asio::co_spawn(asio::make_strand(pool), caller(c), asio::use_future));
  }
  for (auto& done : callers) done.get();
  EXPECT_EQ(granted + canceled, 20 * 200);
  EXPECT_EQ(granted, inside);
  EXPECT_EQ(mutex.waiting("a"), 0u);
  EXPECT_TRUE(mutex.try_lock("a"));
  pool.join();
}

// A waiter whose canceller has claimed it, but has not taken it out of the queue yet.
struct half_canceled final : detail::keyed_mutex_waiter {
  bool claim() noexcept override { return false; }
  void passed_over() noexcept override { ++times_passed_over; }
  void granted(detail::keyed_mutex_entry&) noexcept override { ADD_FAILURE(); }
  int times_passed_over = 0;
};

struct patient final : detail::keyed_mutex_waiter {
  bool claim() noexcept override { return true; }
  void passed_over() noexcept override { ADD_FAILURE(); }
  void granted(detail::keyed_mutex_entry& entry) noexcept override { held = &entry; }
  detail::keyed_mutex_entry* held = nullptr;
};

// B7, B9: the interleaving that the test above meets by chance only.
TEST(keyed_mutex_core, AWaiterThatIsBeingCanceledIsPassedOver) {
  detail::keyed_mutex_core core({});
  half_canceled first;
  half_canceled second;
  patient third;
  auto* entry = core.try_acquire("a");
  ASSERT_TRUE(entry);
  for (detail::keyed_mutex_waiter* waiter :
       std::initializer_list<detail::keyed_mutex_waiter*>{&first, &second, &third}) {
    EXPECT_EQ(core.enqueue("a", *waiter).outcome, detail::enqueue_outcome::queued);
  }
  core.release(*entry);
  EXPECT_EQ(first.times_passed_over, 1);
  EXPECT_EQ(second.times_passed_over, 1);
  EXPECT_EQ(third.held, entry);
  EXPECT_FALSE(core.remove("a", first)) << "its canceller finds it gone";
  core.release(*third.held);
  EXPECT_TRUE(core.try_acquire("a")) << "and the key is free again";
  core.release(*entry);
}

TEST(keyed_mutex_core, AKeyWithNobodyButCanceledWaitersIsFreed) {
  detail::keyed_mutex_core core({});
  half_canceled only;
  auto* entry = core.try_acquire("a");
  core.enqueue("a", only);
  core.release(*entry);
  entry = core.try_acquire("a");
  ASSERT_TRUE(entry);
  core.release(*entry);
  half_canceled late;
  EXPECT_EQ(core.enqueue("a", late).outcome, detail::enqueue_outcome::gave_up);
  EXPECT_EQ(late.times_passed_over, 0);
  entry = core.try_acquire("a");
  ASSERT_TRUE(entry) << "a caller that gave up on a free key leaves it free";
  core.release(*entry);
}

}  // namespace
}  // namespace herdlock
