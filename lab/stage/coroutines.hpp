// Coroutines of a scene.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <herdlock/types.hpp>

namespace herdlock::lab {

namespace asio = boost::asio;
using asio::awaitable, asio::use_awaitable;

inline awaitable<void> sleep_for(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(use_awaitable);
}

}  // namespace herdlock::lab
