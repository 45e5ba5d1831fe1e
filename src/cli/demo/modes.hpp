// One request for the hot product, in each of the three ways.
#pragma once

#include <chrono>
#include <herdlock/cache.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <mutex>
#include <vector>

#include "demo/frame.hpp"
#include "demo/origin.hpp"
#include "demo/stampede_options.hpp"

namespace herdlock::cli {

/// What the requests of one process share. Used on the store's executor.
class requester {
 public:
  using steady = std::chrono::steady_clock;

  /// `on_first_load` is called when the first load of an expiry starts, from any thread.
  requester(store const& entries, worker_orders const& orders, std::function<void()> on_first_load);

  /// Before the requests of an expiry.
  void begin(int expiry, steady::time_point started);

  /// One request; throws when it fails.
  asio::awaitable<product> ask();

  /// The loads of this expiry, the first `most` of them.
  std::vector<load_span> take_loads(std::size_t most);

  /// Puts the product as it is before the expiry, and waits until it has expired in the store.
  asio::awaitable<void> put_and_let_expire(product before);
  /// Takes the entry out of the store.
  asio::awaitable<void> remove();
  /// The first round trip: fails when the store cannot be used.
  asio::awaitable<void> look();

 private:
  asio::awaitable<product> ask_naive();
  asio::awaitable<product> ask_process();
  asio::awaitable<product> ask_fleet();
  asio::awaitable<std::optional<product>> get();
  asio::awaitable<product> query_and_set();
  asio::awaitable<product> load();

  worker_orders const& orders_;
  cache_key key_;
  store store_;
  cache<product> cache_;
  cache<product> short_lived_;
  keyed_mutex mutex_;
  origin_pool origin_;
  std::function<void()> on_first_load_;

  std::mutex loads_mutex_;
  load_label label_;
  steady::time_point started_;
  std::vector<load_span> loads_;
  bool loading_ = false;
};

}  // namespace herdlock::cli
