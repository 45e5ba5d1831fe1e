#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <mutex>
#include <thread>
#include <vector>

#include "keyed_mutex_arrivals.hpp"
#include "local/keyed_mutex_core.hpp"
#include "support/as_result.hpp"
#include "support/eventually.hpp"

namespace herdlock {
namespace {

using namespace std::chrono_literals;
using herdlock_test::eventually;
using guard = keyed_mutex::guard;

TEST(keyed_mutex, AKeyIsHeldByOneAndOtherKeysStayFree) {
  keyed_mutex mutex;
  guard held = mutex.lock("a");
  EXPECT_EQ(held.key(), "a");
  EXPECT_FALSE(mutex.try_lock("a"));
  EXPECT_TRUE(mutex.try_lock("b"));
  held.unlock();
  EXPECT_FALSE(held.owns_lock());
  EXPECT_TRUE(mutex.try_lock("a"));
}

TEST(keyed_mutex, KeysAreComparedByteByByte) {
  keyed_mutex mutex;
  std::string const longest(keyed_mutex::inline_key_bytes, 'x');
  std::string const longer = longest + 'x';
  std::vector<guard> held;
  for (std::string_view key :
       {std::string_view(""), std::string_view("\0", 1), std::string_view("\0\0", 2),
        std::string_view("a\0b", 3), std::string_view("a"), std::string_view(longest),
        std::string_view(longer)}) {
    auto free = mutex.try_lock(key);
    ASSERT_TRUE(free) << key.size();
    EXPECT_EQ(free->key(), key);
    EXPECT_FALSE(mutex.try_lock(key));
    held.push_back(std::move(*free));
  }
}

// Not met by chance: keys whose 64-bit hashes are the same.
TEST(keyed_mutex_core, KeysWithTheSameHashAreDifferentKeys) {
  detail::key_shard shard;
  auto& a = shard.keys.insert("a", 7);
  EXPECT_EQ(shard.keys.find("b", 7), nullptr);
  auto& b = shard.keys.insert("b", 7);
  EXPECT_EQ(shard.keys.find("a", 7), &a);
  EXPECT_EQ(shard.keys.find("b", 7), &b);
  EXPECT_FALSE(shard.keys.erase(a));
  EXPECT_EQ(shard.keys.find("a", 7), nullptr);
  EXPECT_EQ(shard.keys.find("b", 7), &b);
  EXPECT_FALSE(shard.keys.erase(b));
}

TEST(keyed_mutex, ManyKeysAreHeldAtOnce) {
  keyed_mutex mutex;
  for (int round = 0; round < 2; ++round) {
    std::vector<guard> held;
    for (int i = 0; i < 20'000; ++i) held.push_back(mutex.lock("key" + std::to_string(i)));
    for (int i = 0; i < 20'000; ++i) {
      ASSERT_FALSE(mutex.try_lock("key" + std::to_string(i))) << i;
      ASSERT_EQ(held[i].key(), "key" + std::to_string(i));
    }
  }
}

TEST(keyed_mutex, AGuardMovesAndUnlocksOnce) {
  keyed_mutex mutex;
  guard first = mutex.lock("a");
  guard second = std::move(first);
  EXPECT_FALSE(first.owns_lock());
  EXPECT_FALSE(mutex.try_lock("a"));
  second = mutex.lock("b");
  EXPECT_TRUE(mutex.try_lock("a")) << "assigning over a guard unlocks what it held";
  EXPECT_FALSE(mutex.try_lock("b"));
  std::thread([moved = std::move(second)]() mutable { moved.unlock(); }).join();
  EXPECT_TRUE(mutex.try_lock("b")) << "unlocked on another thread";
}

// B10: a release wakes exactly one waiter.
TEST(keyed_mutex, UnlockHandsOverToTheFirstWaiterAndWakesNobodyElse) {
  keyed_mutex mutex;
  asio::io_context io;
  arrivals seen;
  guard held = mutex.lock("a");
  for (int i = 0; i < 5; ++i)
    mutex.async_lock("a", herdlock_test::as_result(asio::bind_executor(io, seen.note(i))));
  EXPECT_EQ(mutex.waiting("a"), 5u);
  EXPECT_EQ(io.poll(), 0u);
  held.unlock();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(io.poll(), 1u) << "one handler for one unlock";
    ASSERT_EQ(seen.order.size(), static_cast<std::size_t>(i + 1));
    EXPECT_EQ(seen.order.back(), i);
    seen.got.back()->unlock();
  }
  EXPECT_EQ(io.poll(), 0u);
  EXPECT_TRUE(mutex.try_lock("a"));
}

TEST(keyed_mutex, NobodyBargesInWhileTheKeyIsHandedOver) {
  keyed_mutex mutex;
  asio::io_context io;
  arrivals seen;
  guard held = mutex.lock("a");
  mutex.async_lock("a", herdlock_test::as_result(asio::bind_executor(io, seen.note(1))));
  held.unlock();
  EXPECT_FALSE(mutex.try_lock("a")) << "handed over, although the new holder has not run yet";
  io.run();
  ASSERT_TRUE(seen.got.at(0).has_value());
}

// One queue for threads and handlers.
TEST(keyed_mutex, ThreadsAndHandlersQueueTogetherInArrivalOrder) {
  keyed_mutex mutex;
  asio::thread_pool pool(1);
  std::mutex order_mutex;
  std::vector<int> order;
  auto note = [&](int who) {
    std::lock_guard hold(order_mutex);
    order.push_back(who);
  };
  std::vector<std::thread> threads;
  guard held = mutex.lock("a");
  for (int i = 0; i < 10; ++i) {
    if (i % 2 == 0) {
      threads.emplace_back([&, i] {
        guard mine = mutex.lock("a");
        note(i);
      });
    } else {
      mutex.async_lock("a", herdlock_test::as_result(
                                asio::bind_executor(pool, [&, i](result<guard>) { note(i); })));
    }
    ASSERT_TRUE(eventually([&] { return mutex.waiting("a") == static_cast<std::size_t>(i + 1); }));
  }
  held.unlock();
  for (auto& thread : threads) thread.join();
  pool.join();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(keyed_mutex, CompletesOnTheHandlersExecutorAndNeverInsideTheCall) {
  keyed_mutex mutex;
  asio::io_context io;
  auto strand = asio::make_strand(io);
  int runs = 0;
  auto count = [&](result<guard> r) {
    EXPECT_TRUE(r.has_value());
    EXPECT_TRUE(strand.running_in_this_thread());
    ++runs;
  };
  asio::dispatch(strand, [&] {
    mutex.async_lock("a", herdlock_test::as_result(asio::bind_executor(strand, count)));
    EXPECT_EQ(runs, 0) << "uncontended";
    mutex.async_lock("a", herdlock_test::as_result(asio::bind_executor(strand, count)));
  });
  io.run();
  EXPECT_EQ(runs, 2);
}

TEST(keyed_mutex, AHandlerWithoutExecutorRunsOnThatOfTheOptions) {
  asio::io_context io;
  keyed_mutex mutex({.executor = io.get_executor()});
  arrivals seen;
  mutex.async_lock("a", herdlock_test::as_result(seen.note(1)));
  EXPECT_EQ(io.run(), 1u);
  EXPECT_EQ(seen.order, std::vector<int>{1});
}

TEST(keyed_mutex, AHandlerErasedByTheCallerIsCalledAndCancelledToo) {
  asio::io_context io;
  keyed_mutex mutex({.executor = io.get_executor()});
  arrivals seen;
  asio::cancellation_signal signal;
  guard held = mutex.lock("a");
  mutex.async_lock("a",
                   herdlock_test::as_result(handler<guard>(asio::bind_executor(io, seen.note(1)))));
  mutex.async_lock("a", herdlock_test::as_result(handler<guard>(asio::bind_cancellation_slot(
                            signal.slot(), asio::bind_executor(io, seen.note(2))))));
  signal.emit(asio::cancellation_type::total);
  EXPECT_EQ(mutex.waiting("a"), 1u);
  held.unlock();
  io.run();
  EXPECT_EQ(seen.order, (std::vector<int>{2, 1}));
}

TEST(keyed_mutex, AWaiterIsOutstandingWorkOfItsExecutor) {
  keyed_mutex mutex;
  asio::io_context io;
  arrivals seen;
  guard held = mutex.lock("a");
  mutex.async_lock("a", herdlock_test::as_result(asio::bind_executor(io, seen.note(1))));
  EXPECT_EQ(io.poll(), 0u);
  EXPECT_FALSE(io.stopped()) << "run() would have come back and lost the waiter";
  held.unlock();
  io.run();
  EXPECT_EQ(seen.order, std::vector<int>{1});
  seen.got.clear();
  EXPECT_TRUE(io.stopped());
}

TEST(keyed_mutex, WorksAsACoroutineAndAsAFuture) {
  asio::thread_pool pool(2);
  keyed_mutex mutex;
  int inside = 0;
  auto enter = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 1000; ++i) {
      guard held = co_await mutex.async_lock("a");
      EXPECT_TRUE(held);
      ++inside;
    }
  };
  auto one = asio::co_spawn(pool, enter, asio::use_future);
  auto two = asio::co_spawn(pool, enter, asio::use_future);
  one.get();
  two.get();
  EXPECT_EQ(inside, 2000);
  EXPECT_TRUE(mutex.async_lock("a", herdlock_test::as_result(asio::use_future)).get().has_value());
}

TEST(keyed_mutex, ABlockedThreadGivesUpAtItsDeadlineAndLeavesTheQueue) {
  keyed_mutex mutex;
  guard held = mutex.lock("a");
  EXPECT_FALSE(mutex.try_lock_for("a", 0ms));
  EXPECT_FALSE(mutex.try_lock_for("a", -1h));
  EXPECT_FALSE(mutex.try_lock_for("a", 1ms));
  EXPECT_FALSE(mutex.try_lock_until("a", clock::now() + 1ms));
  EXPECT_FALSE(mutex.try_lock_until("a", std::chrono::steady_clock::now() + 1ms));
  EXPECT_EQ(mutex.waiting("a"), 0u);
  held.unlock();
  EXPECT_TRUE(mutex.try_lock_for("a", 0ms));
  EXPECT_TRUE(mutex.try_lock_until("a", clock::time_point::min()));
}

TEST(keyed_mutex, ABlockedThreadGetsTheKeyBeforeItsDeadline) {
  keyed_mutex mutex;
  for (auto wait : {milliseconds(1h), wait_forever}) {
    guard held = mutex.lock("a");
    std::optional<guard> got;
    std::thread waiter([&] { got = mutex.try_lock_for("a", wait); });
    ASSERT_TRUE(eventually([&] { return mutex.waiting("a") == 1; }));
    held.unlock();
    waiter.join();
    EXPECT_TRUE(got.has_value());
  }
}

TEST(keyed_mutex, RefusesTheWaiterBeyondTheLimit) {
  asio::io_context io;
  keyed_mutex mutex({.max_waiters_per_key = 2, .executor = io.get_executor()});
  arrivals seen;
  guard held = mutex.lock("a");
  mutex.async_lock("a", herdlock_test::as_result(seen.note(1)));
  mutex.async_lock("a", herdlock_test::as_result(seen.note(2)));
  EXPECT_EQ(io.poll(), 0u) << "at the limit";
  mutex.async_lock("a", herdlock_test::as_result(seen.note(3)));
  EXPECT_EQ(io.poll(), 1u) << "one over it";
  ASSERT_EQ(seen.order, std::vector<int>{3});
  EXPECT_TRUE(seen.got[0].error() == errc::overloaded);
  EXPECT_NE(seen.got[0].error().message.find("'a'"), std::string::npos);
  EXPECT_THROW((void)mutex.lock("a"), error);
  EXPECT_THROW((void)mutex.try_lock_for("a", 1h), error);
  EXPECT_FALSE(mutex.try_lock("a"));
  EXPECT_TRUE(mutex.try_lock("b")) << "the limit is one key's";
  held.unlock();
  io.poll();
  mutex.async_lock("a", herdlock_test::as_result(seen.note(4)));
  EXPECT_EQ(mutex.waiting("a"), 2u) << "there is room again";
  while (mutex.waiting("a") > 0) {
    seen.got.clear();
    io.poll();
  }
}

TEST(keyed_mutex, ThreadsExcludeEachOther) {
  keyed_mutex mutex;
  std::array<int, 3> inside{};  // each guarded by its key
  std::atomic<int> acquired{0};
  auto enter = [&](int which, guard const& held) {
    if (!held) return;
    ++inside[which];
    ++acquired;
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5000; ++i) {
        int const which = (i + t) % 3;
        std::string const key = "key" + std::to_string(which);
        if (i % 7 == 0) {
          if (auto held = mutex.try_lock(key)) enter(which, *held);
        } else if (i % 11 == 0) {
          if (auto held = mutex.try_lock_for(key, 20us)) enter(which, *held);
        } else {
          enter(which, mutex.lock(key));
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(inside[0] + inside[1] + inside[2], acquired);
  EXPECT_GE(acquired, 4 * 5000 * 6 / 7 * 10 / 11) << "lock() always succeeds";
  for (int which = 0; which < 3; ++which) {
    EXPECT_EQ(mutex.waiting("key" + std::to_string(which)), 0u);
  }
}

// A broken precondition ends the process, also in release builds.
TEST(keyed_mutex_death, DestroyingAMutexWithAHeldKeyAborts) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_DEATH(
      {
        auto mutex = std::make_unique<keyed_mutex>();
        guard held = mutex->lock("a");
        mutex.reset();
      },
      "destroyed while a key is held");
}

}  // namespace
}  // namespace herdlock
