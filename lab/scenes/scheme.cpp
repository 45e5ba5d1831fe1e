#include "scenes/scheme.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/cache.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <herdlock/lock.hpp>
#include <stdexcept>

#include "terminal/exit_code.hpp"

namespace herdlock::cli {
namespace {

constexpr milliseconds short_ttl{20};
// Longer than the pause that a process makes between two refreshes of a key.
constexpr milliseconds short_ttl_of_framed{100};
// What is not older when a request comes may be taken for what another has just refreshed.
constexpr milliseconds least_age{100};
constexpr milliseconds between_gets{5};

// The entry as its load leaves it, for the rest of the demo.
cache_options lasting(worker_orders const& orders) {
  milliseconds const load_time = orders.origin.load_time;
  cache_options options{.prefix = no_prefix};  // its name is drawn for the run
  // So many load times that nobody is elected to refresh it.
  options.ttl = std::chrono::minutes(10) + 100 * load_time;
  options.ttl_jitter = 0;
  options.claim_ttl = orders.claim_ttl;
  options.max_load_time = std::chrono::minutes(5) + 3 * load_time;
  options.wait = load_limit(orders);
  if (orders.mode == guard_mode::early) options.early_refresh = 1;
  if (orders.mode == guard_mode::logical) options.grace = std::chrono::minutes(10);
  if (facts_of(orders.mode).serves_old) options.format = cache_format::framed;
  options.near = facts_of(orders.mode).keeps_near ? near_cache::all : near_cache::off;
  return options;
}

// The entry that the requests are to find, or no longer.
cache_options expiring(worker_orders const& orders) {
  cache_options options = lasting(orders);
  options.ttl = options.format == cache_format::framed ? short_ttl_of_framed : short_ttl;
  if (orders.mode == guard_mode::early) {
    options.ttl = least_age + head_start(orders.mode, orders.origin.load_time);
  }
  return options;
}

keyed_mutex_options mutex_terms(store const& entries) {
  keyed_mutex_options options;
  options.max_waiters_per_key = stampede_limits::max_requests;
  options.executor = entries.get_executor();
  return options;
}

asio::awaitable<void> sleep_for(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

// What all have in common: a cache, and the entry in it.
template <class Codec>
class cached_scheme : public scheme {
 public:
  using cache_type = cache<product, Codec>;

  cached_scheme(scheme_stores const& stores, worker_orders const& orders, load_product load)
      : load_(std::move(load)),
        key_(orders.key),
        locks_(stores.locks),
        expiring_(stores.values, expiring(orders)),
        cache_(stores.locks ? cache_type(stores.values, *stores.locks, lasting(orders))
                            : cache_type(stores.values, lasting(orders), own_loader(stores))) {}

  asio::awaitable<void> play_expiry(product before) override {
    co_await expiring_.async_put(key_.str(), before, asio::use_awaitable);
    auto found = co_await get();
    while (found) {
      co_await sleep_for(between_gets);
      found = co_await get();
    }
  }

  asio::awaitable<void> remove() override {
    co_await cache_.async_invalidate(key_.str(), asio::use_awaitable);
  }

  asio::awaitable<void> look() override {
    if (locks_) {
      lock const asked(*locks_, key_.str());
      co_await asked.async_inspect(asio::use_awaitable);
    }
    co_await get();
  }

 protected:
  // What is there and fresh.
  asio::awaitable<std::optional<product>> get() {
    cached<product> found = co_await cache_.async_get(key_.str(), asio::use_awaitable);
    if (!found) co_return std::nullopt;
    co_return *std::move(found);
  }

  // It may run behind an answer, and owns what it uses.
  asio::awaitable<std::optional<product>> ask_cache() {
    if (!locks_) co_return co_await cache_.async_get_or_load(key_.str(), asio::use_awaitable);
    auto loader = [this]() -> asio::awaitable<std::optional<product>> {
      co_return co_await load_();
    };
    co_return co_await cache_.async_get_or_load(key_.str(), loader, asio::use_awaitable);
  }
  auto own_loader(scheme_stores const& stores) const {
    auto load = [query = load_]() -> asio::awaitable<std::optional<product>> {
      co_return co_await query();
    };
    return owned_loader(stores.values.get_executor(), std::move(load));
  }

  load_product const load_;
  cache_key const key_;
  std::optional<store> const locks_;
  cache_type const expiring_;
  cache_type const cache_;
};

// ---------------------------------------------------------------------- without herdlock's guard

class naive_scheme : public cached_scheme<product_json> {
 public:
  using cached_scheme::cached_scheme;

  asio::awaitable<product> ask() override {
    if (auto hit = co_await get()) co_return std::move(*hit);
    ++waited_;
    co_return co_await query_and_set();
  }

  std::uint64_t waited() const override { return waited_; }

 protected:
  asio::awaitable<product> query_and_set() {
    product loaded = co_await load_();
    co_await cache_.async_put(key_.str(), loaded, asio::use_awaitable);
    co_return loaded;
  }

  std::uint64_t waited_ = 0;
};

class process_scheme final : public naive_scheme {
 public:
  process_scheme(scheme_stores const& stores, worker_orders const& orders, load_product load)
      : naive_scheme(stores, orders, std::move(load)), mutex_(mutex_terms(stores.values)) {}

  asio::awaitable<product> ask() override {
    if (auto hit = co_await get()) co_return std::move(*hit);
    ++waited_;
    auto const held = co_await mutex_.async_lock(key_.str(), asio::use_awaitable);
    if (auto hit = co_await get()) co_return std::move(*hit);
    co_return co_await query_and_set();
  }

 private:
  keyed_mutex mutex_;
};

// ------------------------------------------------------------------------------------- with it

template <class Codec>
class guarded_scheme : public cached_scheme<Codec> {
 public:
  using cached_scheme<Codec>::cached_scheme;

  asio::awaitable<product> ask() override {
    auto found = co_await this->ask_cache();
    if (!found) throw std::runtime_error("the product is said not to exist");
    co_return std::move(*found);
  }

  std::uint64_t waited() const override { return this->cache_.stats().misses; }
};

// The election goes by the time that the entry's own load took. That of the old entry is played,
// not asked of the database, so that its log has the loads of the requests alone.
class early_scheme final : public guarded_scheme<product_json> {
 public:
  early_scheme(scheme_stores const& stores, worker_orders const& orders, load_product load)
      : guarded_scheme(stores, orders, std::move(load)), load_time_(orders.origin.load_time) {}

  asio::awaitable<void> play_expiry(product before) override {
    co_await remove();
    auto loader = [this, before]() -> asio::awaitable<std::optional<product>> {
      co_await sleep_for(load_time_);
      co_return before;
    };
    co_await expiring_.async_get_or_load(key_.str(), loader, asio::use_awaitable);
    co_await sleep_for(least_age);
  }

 private:
  milliseconds const load_time_;
};

// What the processes kept of the product before its expiry is not served behind a fence.
class near_scheme final : public guarded_scheme<product_json> {
 public:
  using guarded_scheme::guarded_scheme;

  asio::awaitable<void> get_ready() override { co_await cache_.async_fence(asio::use_awaitable); }

  std::uint64_t near_hits() const override { return cache_.stats().near_hits; }
};

// The library takes it for no mistake: a store in this process keeps its values as near as can be.
void require_server(store const& values) {
  if (values.traits().across_processes) return;
  throw error(make_failure(errc::not_supported, "store " + values.display_name() +
                                                    " keeps its values in the process "
                                                    "already"));
}

}  // namespace

milliseconds load_limit(worker_orders const& orders) {
  return std::chrono::seconds(30) + 3 * orders.origin.load_time + 2 * orders.claim_ttl;
}

scheme_stores open_stores(worker_orders const& orders) {
  scheme_stores stores{value_or_raise(try_open_store(orders.store_url)), std::nullopt};
  if (orders.mode == guard_mode::double_lock) {
    stores.locks = value_or_raise(try_open_store(orders.locks_url));
  }
  return stores;
}

std::unique_ptr<scheme> make_scheme(scheme_stores const& stores, worker_orders const& orders,
                                    load_product load) {
  switch (orders.mode) {
    case guard_mode::naive:
      return std::make_unique<naive_scheme>(stores, orders, std::move(load));
    case guard_mode::process:
      return std::make_unique<process_scheme>(stores, orders, std::move(load));
    case guard_mode::early:
      return std::make_unique<early_scheme>(stores, orders, std::move(load));
    case guard_mode::hash:
      return std::make_unique<guarded_scheme<product_fields>>(stores, orders, std::move(load));
    case guard_mode::near:
      require_server(stores.values);
      return std::make_unique<near_scheme>(stores, orders, std::move(load));
    case guard_mode::fleet:
    case guard_mode::logical:
    case guard_mode::double_lock:
      break;
  }
  return std::make_unique<guarded_scheme<product_json>>(stores, orders, std::move(load));
}

}  // namespace herdlock::cli
