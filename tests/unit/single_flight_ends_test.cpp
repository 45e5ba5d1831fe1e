// How calls of a single_flight end whose operation runs.
#include "single_flight_fixture.hpp"

namespace herdlock {
namespace {

TEST_F(single_flight_async, WhoBroughtTheOperationIsAnsweredWhenItHasEnded) {
  single_flight<std::string> stopping(io.get_executor());
  asio::cancellation_signal first;
  asio::cancellation_signal second;
  auto operation = [this](std::stop_token t) { return load.pass_with(t); };
  stopping.async_run("a", operation, note(1, first));
  stopping.async_run("a", operation, note(2, second));
  io.poll();
  first.emit(asio::cancellation_type::terminal);
  io.poll();
  EXPECT_TRUE(answers.empty()) << "what it was given is in use";
  second.emit(asio::cancellation_type::terminal);
  EXPECT_TRUE(load.last_token().stop_requested()) << "the last of the others has left";
  io.run();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].caller, 2);
  EXPECT_EQ(answers[1].caller, 1);
}

TEST_F(single_flight_async, AValueIsTheAnswerAlsoOfACallThatHasEnded) {
  single_flight<std::string> stopping(io.get_executor());
  asio::cancellation_signal first;
  stopping.async_run(
      "a", [this] { return load.pass("value"); }, note(1, first));
  stopping.async_run(
      "a", [this] { return load.pass("value"); }, note(2));
  io.poll();
  first.emit(asio::cancellation_type::terminal);
  load.open();
  io.run();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].value, "value");
  EXPECT_EQ(answers[1].value, "value");
}

TEST_F(single_flight_async, AnOperationThatEndsByTheRequestMakesItsCallCanceled) {
  single_flight<std::string> stopping(io.get_executor());
  asio::cancellation_signal signal;
  auto endless = [this]() -> asio::awaitable<std::string> {
    asio::steady_timer never(io, asio::steady_timer::time_point::max());
    co_await never.async_wait(asio::use_awaitable);
    co_return "never";
  };
  stopping.async_run("a", endless, note(1, signal));
  io.poll();
  signal.emit(asio::cancellation_type::terminal);
  io.run();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(failed_with(answers[0], errc::canceled));
}

}  // namespace
}  // namespace herdlock
