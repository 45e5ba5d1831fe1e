#include <gtest/gtest.h>

#include <boost/asio/cancel_after.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <thread>

#include "single_flight_fixture.hpp"
#include "support/eventually.hpp"

namespace herdlock {
namespace {

using namespace std::chrono_literals;
using herdlock_test::eventually;

TEST_F(single_flight_async, JoinersShareOneOperationAndItsValueInJoinOrder) {
  for (int i = 0; i < 100; ++i) {
    flights.async_run(
        "a", [this] { return load.pass("value"); }, note(i));
  }
  EXPECT_EQ(flights.waiting("a"), 100u);
  EXPECT_TRUE(answers.empty());
  io.poll();
  EXPECT_EQ(load.begun(), 1);
  load.open();
  io.run();
  EXPECT_EQ(load.begun(), 1);
  ASSERT_EQ(answers.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(answers[i].caller, i);
    EXPECT_FALSE(answers[i].error);
    EXPECT_EQ(answers[i].value, "value");
  }
}

// S5: an error is shared as well, not run into by each caller in turn.
TEST_F(single_flight_async, JoinersShareTheException) {
  for (int i = 0; i < 3; ++i) {
    flights.async_run(
        "a", [this] { return load.fail("no such product"); }, note(i));
  }
  io.poll();
  load.open();
  io.run();
  EXPECT_EQ(load.begun(), 1);
  ASSERT_EQ(answers.size(), 3u);
  for (auto const& got : answers) {
    ASSERT_TRUE(got.error);
    EXPECT_THROW(std::rethrow_exception(got.error), std::runtime_error);
  }
}

TEST_F(single_flight_async, AnOperationThatThrowsBeforeItsFirstStepIsAFailureToo) {
  auto broken = []() -> asio::awaitable<std::string> { throw std::logic_error("broken"); };
  flights.async_run("a", broken, note(1));
  io.run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_THROW(std::rethrow_exception(answers[0].error), std::logic_error);
}

TEST_F(single_flight_async, TheNextCallerAfterTheEndStartsAnew) {
  auto quick = []() -> asio::awaitable<std::string> { co_return "quick"; };
  flights.async_run("a", quick, note(1));
  io.run();
  io.restart();
  flights.async_run(
      "a", [this] { return load.pass("second"); }, note(2));
  io.poll();
  EXPECT_EQ(load.begun(), 1);
  load.open();
  io.run();
  EXPECT_EQ(answers.at(1).value, "second");
}

// S7: also the caller who started the flight.
TEST_F(single_flight_async, ACancelledCallerNeverFailsTheOthers) {
  for (int victim = 0; victim < 3; ++victim) {
    answers.clear();
    io.restart();
    gate slow(io.get_executor());
    asio::cancellation_signal signal;
    for (int i = 0; i < 3; ++i) {
      auto operation = [&slow] { return slow.pass("value"); };
      if (i == victim) {
        flights.async_run("a", operation, note(i, signal));
      } else {
        flights.async_run("a", operation, note(i));
      }
    }
    io.poll();
    signal.emit(asio::cancellation_type::terminal);
    io.poll();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].caller, victim);
    EXPECT_TRUE(failed_with(answers[0], errc::canceled));
    slow.open();
    io.run();
    EXPECT_EQ(slow.begun(), 1);
    ASSERT_EQ(answers.size(), 3u);
    EXPECT_EQ(answers[1].value, "value");
    EXPECT_EQ(answers[2].value, "value");
  }
}

TEST_F(single_flight_async, EveryCancellationTypeEndsTheWait) {
  for (auto type : {asio::cancellation_type::terminal, asio::cancellation_type::partial,
                    asio::cancellation_type::total}) {
    asio::cancellation_signal signal;
    flights.async_run(
        "a", [this] { return load.pass("value"); }, note(1, signal));
    signal.emit(type);
    EXPECT_EQ(flights.waiting("a"), 0u);
  }
  load.open();
  io.poll();
  EXPECT_EQ(answers.size(), 3u);
  load.open();
  io.run();
}

TEST_F(single_flight_async, CancelAfterEndsTheWaitOfOneCaller) {
  flights.async_run(
      "a", [this] { return load.pass("value"); }, asio::cancel_after(1ms, note(1)));
  flights.async_run(
      "a", [this] { return load.pass("value"); }, note(2));
  while (answers.empty()) io.run_one();
  EXPECT_TRUE(failed_with(answers[0], errc::canceled));
  load.open();
  io.run();
  EXPECT_EQ(answers.at(1).value, "value");
}

TEST_F(single_flight_async, AnAbandonedOperationGoesOnAndCanBeJoined) {
  asio::cancellation_signal signal;
  flights.async_run(
      "a", [this](std::stop_token t) { return load.pass_with(t); }, note(1, signal));
  io.poll();
  signal.emit(asio::cancellation_type::terminal);
  EXPECT_FALSE(load.last_token().stop_requested());
  flights.async_run(
      "a", [this](std::stop_token t) { return load.pass_with(t); }, note(2));
  load.open();
  io.run();
  EXPECT_EQ(load.begun(), 1);
  EXPECT_EQ(answers.at(1).value, "stoppable");
}

TEST_F(single_flight_async, AnAbandonedOperationIsStoppedWhenTheOptionSaysSo) {
  single_flight<std::string> stopping(io.get_executor(),
                                      {.abandoned = abandoned_flight::is_stopped});
  asio::cancellation_signal first;
  asio::cancellation_signal second;
  auto operation = [this](std::stop_token t) { return load.pass_with(t); };
  stopping.async_run("a", operation, note(1, first));
  stopping.async_run("a", operation, note(2, second));
  io.poll();
  auto const token = load.last_token();
  first.emit(asio::cancellation_type::terminal);
  EXPECT_FALSE(token.stop_requested()) << "somebody is still waiting";
  second.emit(asio::cancellation_type::terminal);
  EXPECT_TRUE(token.stop_requested());
  stopping.async_run("a", operation, note(3));
  io.poll();
  EXPECT_EQ(load.begun(), 2) << "nobody joins a flight that is being stopped";
  load.open();
  io.run();
  EXPECT_EQ(answers.back().value, "stoppable");
}

TEST_F(single_flight_async, ForgetMakesTheNextCallerStartANewFlight) {
  gate fresh(io.get_executor());
  EXPECT_FALSE(flights.forget("a"));
  flights.async_run(
      "a", [this] { return load.pass("old"); }, note(1));
  EXPECT_TRUE(flights.forget("a"));
  flights.async_run(
      "a", [&] { return fresh.pass("new"); }, note(2));
  io.poll();
  EXPECT_EQ(fresh.begun(), 1);
  fresh.open();
  io.poll();
  load.open();
  io.run();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].value, "new");
  EXPECT_EQ(answers[1].value, "old");
}

TEST_F(single_flight_async, RefusesTheCallerAndTheFlightBeyondTheLimit) {
  single_flight<std::string> small(io.get_executor(), {.max_flights = 1, .max_callers = 2});
  auto operation = [this] { return load.pass("value"); };
  small.async_run("a", operation, note(1));
  small.async_run("b", operation, note(2));
  small.async_run("a", operation, note(3));
  small.async_run("a", operation, note(4));
  EXPECT_THROW(small.run("b", [] { return std::string(); }), error);
  io.poll();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].caller, 2);
  EXPECT_TRUE(failed_with(answers[0], errc::overloaded)) << "one flight over max_flights";
  EXPECT_EQ(answers[1].caller, 4);
  EXPECT_TRUE(failed_with(answers[1], errc::overloaded)) << "one caller over max_callers";
  load.open();
  io.run();
  EXPECT_EQ(answers.size(), 4u);
}

TEST_F(single_flight_async, TheCallersAreAnsweredAlsoWhenTheObjectIsGone) {
  auto brief = std::make_unique<single_flight<std::string>>(io.get_executor());
  brief->async_run(
      "a", [this] { return load.pass("value"); }, note(1));
  brief.reset();
  io.poll();
  load.open();
  io.run();
  EXPECT_EQ(answers.at(0).value, "value");
}

// B20: a promise that never settles.
TEST(single_flight, AFlightWhoseExecutorIsShutDownAnswersCanceled) {
  asio::io_context callers;
  std::vector<answer> answers;
  {
    asio::io_context doomed;
    gate never(doomed.get_executor());
    single_flight<std::string> flights(doomed.get_executor());
    flights.async_run(
        "a", [&] { return never.pass("value"); },
        asio::bind_executor(callers, [&](std::exception_ptr e, std::string value) {
          answers.push_back({1, e, value});
        }));
    doomed.poll();
    EXPECT_EQ(never.begun(), 1);
  }
  callers.run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(failed_with(answers[0], errc::canceled));
}

TEST(single_flight, ThreadsAndCoroutinesJoinTheSameFlight) {
  asio::thread_pool pool(1);
  gate load(pool.get_executor());
  single_flight<std::string> flights(pool.get_executor());
  auto async = flights.async_run(
      "a", [&] { return load.pass("value"); }, asio::use_future);
  std::string blocked;
  std::thread thread([&] { blocked = flights.run("a", [] { return std::string("other"); }); });
  ASSERT_TRUE(eventually([&] { return flights.waiting("a") == 2 && load.begun() == 1; }));
  asio::post(pool, [&] { load.open(); });
  EXPECT_EQ(async.get(), "value");
  thread.join();
  EXPECT_EQ(blocked, "value");
  pool.join();
}

// S7, B20 under load: everyone is answered once, by a value or by his own cancellation.
TEST(single_flight, EveryoneIsAnsweredWhenCancellationsCrossResults) {
  asio::thread_pool pool(3);
  single_flight<int> flights(pool.get_executor());
  std::atomic<int> values{0};
  std::atomic<int> canceled{0};
  auto operation = []() -> asio::awaitable<int> {
    co_await asio::post(asio::deferred);
    co_return 1;
  };
  auto caller = [&](int seed) -> asio::awaitable<void> {
    for (int i = 0; i < 100; ++i) {
      auto patience = std::chrono::microseconds((seed * 31 + i * 17) % 80);
      auto token = asio::cancel_after(patience, asio::as_tuple(asio::deferred));
      auto [error, value] = co_await flights.async_run("a", operation, token);
      if (error) {
        ++canceled;
      } else {
        values += value;
      }
    }
  };
  std::vector<std::future<void>> callers;
  for (int c = 0; c < 20; ++c) {
    callers.push_back(asio::co_spawn(asio::make_strand(pool), caller(c), asio::use_future));
  }
  for (auto& done : callers) done.get();
  EXPECT_EQ(values + canceled, 20 * 100);
  EXPECT_EQ(flights.waiting("a"), 0u);
  pool.join();
}

}  // namespace
}  // namespace herdlock
