// Operations of a single_flight that end when a test says so, and who waits for them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/single_flight.hpp>
#include <string>
#include <vector>

namespace herdlock {

// An operation that ends when the test says so, and counts how often it was begun.
class gate {
 public:
  explicit gate(asio::any_io_executor executor) : open_(executor) {
    open_.expires_at(asio::steady_timer::time_point::max());
  }
  void open() { open_.cancel(); }
  int begun() const { return begun_; }
  std::stop_token last_token() const { return token_; }

  asio::awaitable<std::string> pass(std::string value) {
    ++begun_;
    co_await wait();
    co_return value;
  }
  asio::awaitable<std::string> fail(std::string what) {
    ++begun_;
    co_await wait();
    throw std::runtime_error(what);
  }
  asio::awaitable<std::string> pass_with(std::stop_token token) {
    token_ = token;
    return pass("stoppable");
  }

 private:
  asio::awaitable<void> wait() {
    auto [ec] = co_await open_.async_wait(asio::as_tuple(asio::deferred));
    (void)ec;
  }

  asio::steady_timer open_;
  std::atomic<int> begun_{0};
  std::stop_token token_;
};

struct answer {
  int caller;
  std::exception_ptr error;
  std::string value;
};

inline bool failed_with(answer const& got, errc expected) {
  try {
    if (got.error) std::rethrow_exception(got.error);
  } catch (error const& why) {
    return why.code() == make_error_code(expected);
  }
  return false;
}

class single_flight_async : public testing::Test {
 protected:
  auto note(int caller) {
    return asio::bind_executor(io, [this, caller](std::exception_ptr error, std::string value) {
      answers.push_back({caller, error, std::move(value)});
    });
  }
  auto note(int caller, asio::cancellation_signal& signal) {
    return asio::bind_cancellation_slot(signal.slot(), note(caller));
  }

  asio::io_context io;
  gate load{io.get_executor()};
  std::vector<answer> answers;
  // Their operations own what they use.
  single_flight<std::string> flights{io.get_executor(), {.abandoned = abandoned_flight::goes_on}};
};

}  // namespace herdlock
