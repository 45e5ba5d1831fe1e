#include "scenes/stampede_scheme.hpp"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/cache.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <stdexcept>

#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

constexpr milliseconds short_ttl{20};
// Longer than the pause that a process makes between two refreshes of a key.
constexpr milliseconds short_ttl_of_framed{100};
// What is not older when a request comes may be taken for what another has just refreshed.
constexpr milliseconds least_age{100};

// The entry as its load leaves it, for the rest of the scene.
cache_options lasting(stampede_orders const& orders) {
  guard_mode const& mode = *orders.mode;
  milliseconds const load_time = orders.origin.load_time;
  cache_options options{.prefix = no_prefix};  // its name is drawn for the run
  // So many load times that nobody is elected to refresh it.
  options.ttl = std::chrono::minutes(10) + 100 * load_time;
  options.ttl_jitter = 0;
  options.claim_ttl = orders.claim_ttl;
  options.max_load_time = std::chrono::minutes(5) + 3 * load_time;
  options.wait = load_limit(orders);
  if (mode.serves_old) options.format = cache_format::framed;
  if (mode.serves_old && mode.comes_early) options.early_refresh = 1;
  if (mode.serves_old && !mode.comes_early) options.grace = std::chrono::minutes(10);
  options.near = mode.keeps_near ? near_cache::all : near_cache::off;
  return options;
}

// The entry that the requests are to find, or no longer.
cache_options expiring(stampede_orders const& orders) {
  cache_options options = lasting(orders);
  options.ttl = options.format == cache_format::framed ? short_ttl_of_framed : short_ttl;
  if (orders.mode->comes_early) {
    options.ttl = least_age + head_start(*orders.mode, orders.origin.load_time);
  }
  return options;
}

// What all have in common: a cache, and the entry in it.
template <class Codec>
class cached_scheme : public scheme {
 public:
  using cache_type = cache<product, Codec>;

  cached_scheme(scheme_stores const& stores, stampede_orders const& orders, load_product load)
      : load_(std::move(load)),
        key_(orders.key),
        expiring_(stores.values, expiring(orders)),
        cache_(stores.locks
                   ? cache_type(stores.values, *stores.locks, lasting(orders),
                                own_loader(stores.values))
                   : cache_type(stores.values, lasting(orders), own_loader(stores.values))) {}

  asio::awaitable<void> play_expiry(product before) override {
    co_await expiring_.async_put(key_.str(), before, asio::use_awaitable);
    auto found = co_await get();
    while (found) {
      co_await sleep_for(milliseconds(5));
      found = co_await get();
    }
  }

  asio::awaitable<void> remove() override {
    co_await cache_.async_invalidate(key_.str(), asio::use_awaitable);
  }

  asio::awaitable<void> look() override { co_await get(); }

 protected:
  // What is there and fresh.
  asio::awaitable<std::optional<product>> get() {
    cached<product> found = co_await cache_.async_get(key_.str(), asio::use_awaitable);
    co_return found ? std::optional(*std::move(found)) : std::nullopt;
  }

  // It may run behind an answer, and owns what it uses.
  auto own_loader(store const& values) const {
    auto load = [query = load_]() -> asio::awaitable<std::optional<product>> {
      co_return co_await query();
    };
    return owned_loader(values.get_executor(), std::move(load));
  }

  load_product const load_;
  cache_key const key_;
  cache_type const expiring_;
  cache_type const cache_;
};

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
  process_scheme(scheme_stores const& stores, stampede_orders const& orders, load_product load)
      : naive_scheme(stores, orders, std::move(load)),
        mutex_({.max_waiters_per_key = stampede_orders::max_requests,
                .executor = stores.values.get_executor()}) {}

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

template <class Codec>
class guarded_scheme : public cached_scheme<Codec> {
 public:
  using cached_scheme<Codec>::cached_scheme;

  asio::awaitable<product> ask() override {
    auto found = co_await this->cache_.async_get_or_load(this->key_.str(), asio::use_awaitable);
    if (!found) throw std::runtime_error("the product is said not to exist");
    co_return std::move(*found);
  }

  std::uint64_t waited() const override { return this->cache_.stats().misses; }
};
using json_scheme = guarded_scheme<product_json>;

// The election goes by the time that the entry's own load took. That of the old entry is played,
// not asked of the database, so that its log has the loads of the requests alone.
class early_scheme final : public json_scheme {
 public:
  early_scheme(scheme_stores const& stores, stampede_orders const& orders, load_product load)
      : json_scheme(stores, orders, std::move(load)), load_time_(orders.origin.load_time) {}

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
class near_scheme final : public json_scheme {
 public:
  // The library takes it for no mistake: a store in this process has its values as near as can be.
  near_scheme(scheme_stores const& stores, stampede_orders const& orders, load_product load)
      : json_scheme(stores, orders, std::move(load)) {
    if (stores.values.traits().across_processes) return;
    throw error(make_failure(errc::not_supported, "store " + stores.values.display_name() +
                                                      " keeps its values in the process already"));
  }

  asio::awaitable<void> get_ready() override { co_await cache_.async_fence(asio::use_awaitable); }

  std::uint64_t near_hits() const override { return cache_.stats().near_hits; }
};

template <class Scheme>
std::unique_ptr<scheme> made_as(scheme_stores const& stores, stampede_orders const& orders,
                                load_product load) {
  return std::make_unique<Scheme>(stores, orders, std::move(load));
}

constexpr guard_mode modes[] = {
    {"naive", "get; on a miss query and set: what most code does", made_as<naive_scheme>},
    {"process", "a mutex per key in each process, then a second look", made_as<process_scheme>},
    {"fleet", "herdlock: one load for all, everyone gets its answer", made_as<json_scheme>},
    {.name = "early",
     .does = "refreshed before it expires: XFetch elects, one claims",
     .make = made_as<early_scheme>,
     .serves_old = true,
     .comes_early = true},
    {.name = "logical",
     .does = "stale ones are answered, one loads behind them",
     .make = made_as<json_scheme>,
     .serves_old = true},
    {.name = "double-lock",
     .does = "get, lock in another store, get again, load, set",
     .make = made_as<json_scheme>,
     .has_locks = true},
    {"hash", "as fleet; others read the entry field by field",
     made_as<guarded_scheme<product_fields>>},
    {.name = "near",
     .does = "as fleet; each process keeps the product (Redis only)",
     .make = made_as<near_scheme>,
     .keeps_near = true},
};

}  // namespace

asio::awaitable<void> sleep_for(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

std::span<guard_mode const> all_modes() { return modes; }

milliseconds head_start(guard_mode const& mode, milliseconds load_time) {
  if (!mode.comes_early) return milliseconds{0};
  // A refresh that begins with the requests is to end before the entry does, on a slow machine too.
  return load_time + std::max(load_time, milliseconds{100});
}

milliseconds load_limit(stampede_orders const& orders) {
  return std::chrono::seconds(30) + 3 * orders.origin.load_time + 2 * orders.claim_ttl;
}

scheme_stores open_stores(stampede_orders const& orders) {
  scheme_stores stores{open_here(orders.store_url), std::nullopt};
  if (orders.mode->has_locks) stores.locks = open_here(orders.locks_url);
  return stores;
}

}  // namespace herdlock::lab
