#include "demo/modes.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>

#include "common/exit_code.hpp"

namespace herdlock::cli {
namespace {

constexpr milliseconds short_ttl{20};

cache_options cache_terms(worker_orders const& orders) {
  cache_options options;
  options.ttl = std::chrono::minutes(10);
  options.ttl_jitter = 0;
  options.claim_ttl = orders.claim_ttl;
  options.max_load_time = std::chrono::minutes(5) + 3 * orders.origin.load_time;
  // A load may be slow, and may have to be done again by another process.
  options.wait = std::chrono::seconds(30) + 3 * orders.origin.load_time + 2 * orders.claim_ttl;
  return options;
}

cache_options short_terms(worker_orders const& orders) {
  cache_options options = cache_terms(orders);
  options.ttl = short_ttl;
  return options;
}

keyed_mutex_options mutex_terms(store const& entries) {
  keyed_mutex_options options;
  options.max_waiters_per_key = stampede_limits::max_requests;
  options.executor = entries.get_executor();
  return options;
}

std::uint32_t micros(requester::steady::duration time) {
  return static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(time).count());
}

}  // namespace

requester::requester(store const& entries, worker_orders const& orders,
                     std::function<void()> on_first_load)
    : orders_(orders),
      key_(orders.key),
      store_(entries),
      cache_(entries, cache_terms(orders)),
      short_lived_(entries, short_terms(orders)),
      mutex_(mutex_terms(entries)),
      origin_(orders.origin, orders.connections),
      on_first_load_(std::move(on_first_load)) {
  label_ = {orders.run, name_of(orders.mode), 0};
}

void requester::begin(int expiry, steady::time_point started) {
  std::lock_guard const held(loads_mutex_);
  label_.expiry = expiry;
  started_ = started;
  loads_.clear();
  loading_ = false;
}

std::vector<load_span> requester::take_loads(std::size_t most) {
  std::lock_guard const held(loads_mutex_);
  if (loads_.size() > most) loads_.resize(most);
  return std::move(loads_);
}

asio::awaitable<product> requester::ask() {
  switch (orders_.mode) {
    case guard_mode::naive:
      return ask_naive();
    case guard_mode::process:
      return ask_process();
    case guard_mode::fleet:
      break;
  }
  return ask_fleet();
}

asio::awaitable<product> requester::ask_naive() {
  if (auto hit = co_await get()) co_return std::move(*hit);
  co_return co_await query_and_set();
}

asio::awaitable<product> requester::ask_process() {
  if (auto hit = co_await get()) co_return std::move(*hit);
  auto const held = co_await mutex_.async_lock(key_.str(), asio::use_awaitable);
  if (auto hit = co_await get()) co_return std::move(*hit);
  co_return co_await query_and_set();
}

asio::awaitable<product> requester::ask_fleet() {
  auto loader = [this](load_context) -> asio::awaitable<std::optional<product>> {
    co_return co_await load();
  };
  auto found = co_await cache_.async_get_or_load(key_, loader, asio::use_awaitable);
  if (!found) throw std::runtime_error("the product is said not to exist");
  co_return std::move(*found);
}

asio::awaitable<std::optional<product>> requester::get() {
  cached<product> found = co_await cache_.async_get(key_, asio::use_awaitable);
  if (!found) co_return std::nullopt;
  co_return *std::move(found);
}

asio::awaitable<product> requester::query_and_set() {
  product loaded = co_await load();
  co_await cache_.async_put(key_, loaded, asio::use_awaitable);
  co_return loaded;
}

asio::awaitable<product> requester::load() {
  load_label label;
  bool first = false;
  {
    std::lock_guard const held(loads_mutex_);
    label = label_;
    first = !std::exchange(loading_, true);
  }
  auto const from = steady::now();
  if (first) on_first_load_();
  product loaded = co_await origin_.load(label);
  std::lock_guard const held(loads_mutex_);
  loads_.push_back({micros(from - started_), micros(steady::now() - started_)});
  co_return loaded;
}

asio::awaitable<void> requester::put_and_let_expire(product before) {
  co_await short_lived_.async_put(key_, before, asio::use_awaitable);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  while (co_await get()) {
    timer.expires_after(short_ttl / 4);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

asio::awaitable<void> requester::remove() {
  co_await cache_.async_invalidate(key_, asio::use_awaitable);
}

asio::awaitable<void> requester::look() { co_await get(); }

}  // namespace herdlock::cli
