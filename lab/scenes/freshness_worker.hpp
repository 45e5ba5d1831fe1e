// Scene `freshness`: a process of the fleet. It is its callers, each of which asks, pauses, and
// asks again.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/herdlock.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "scenes/freshness.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::freshness {

template <class T>
using awaitable = boost::asio::awaitable<T>;
using text = std::optional<std::string>;

class worker {
 public:
  worker(terms const& how, board& seen, std::string const& url)
      : how_(how),
        seen_(seen),
        store_(open_here(url, {.executor = io_.get_executor(), .guard = executor_guard::none})) {}
  virtual ~worker() = default;

  void run() {
    auto const told = [](std::exception_ptr const& why) {
      if (why) std::rethrow_exception(why);
    };
    for (int i = 0; i < how_.callers; ++i) boost::asio::co_spawn(io_, go_on(), told);
    io_.run();
  }

 protected:
  virtual awaitable<void> begin() { co_return; }
  virtual awaitable<void> ask() = 0;
  virtual std::vector<cache_stats> stats() const = 0;

  awaitable<void> pass(milliseconds span) {
    boost::asio::steady_timer timer(io_, span);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
  std::uint64_t misses() const {
    std::uint64_t sum = 0;
    for (auto const& each : stats()) sum += each.misses;
    return sum;
  }
  double share(double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(dice_);
  }

  terms const& how_;
  board& seen_;
  boost::asio::io_context io_;
  store store_;
  std::minstd_rand dice_{std::random_device()()};
  std::uint64_t misses_at_first_ = 0;

 private:
  awaitable<void> go_on() {
    co_await begin();
    while (!seen_.stop) {
      co_await ask();
      auto const span = static_cast<double>(how_.pause.count()) * share(0.5, 1.5);
      co_await pass(milliseconds(static_cast<std::int64_t>(span)));
    }
    if (--callers_ > 0) co_return;
    seen_.waited += misses() - misses_at_first_;
    for (auto const& each : stats()) seen_.stale += each.stale_hits;
    ++seen_.ended;
    io_.stop();
  }

  int callers_ = how_.callers;
};

}  // namespace herdlock::lab::freshness
