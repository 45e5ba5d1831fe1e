#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/cache.hpp>
#include <herdlock/keyed_mutex.hpp>
#include <herdlock/lock.hpp>
#include <stdexcept>

#include "scenes/stampede.hpp"
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
  options.wait = orders.load_limit();
  if (mode.serves_old) options.format = cache_format::framed;
  if (mode.serves_old && mode.comes_early) options.early_refresh = 1;
  if (mode.serves_old && !mode.comes_early) options.grace = std::chrono::minutes(10);
  options.near = mode.keeps_near ? near_cache::all : near_cache::off;
  return options;
}

// The entry that the requests are to find, or no longer.
cache_options expiring(stampede_orders const& orders) {
  cache_options options = lasting(orders);
  options.ttl = orders.mode->comes_early  ? least_age + orders.head_start()
                : orders.mode->serves_old ? short_ttl_of_framed
                                          : short_ttl;
  return options;
}

template <class Codec>
class cached_scheme final : public scheme {
 public:
  using cache_type = cache<product, Codec>;
  using load_product = std::function<asio::awaitable<product>()>;

  cached_scheme(stampede_orders const& orders, load_product load)
      : mode_(*orders.mode),
        load_time_(orders.origin.load_time),
        load_(std::move(load)),
        key_(orders.key),
        values_(open_here(orders.store_url)),
        locks_(mode_.has_locks ? open_here(orders.locks_url) : values_),
        mutex_({.max_waiters_per_key = stampede_orders::max_requests,
                .executor = values_.get_executor()}),
        expiring_(values_, expiring(orders)),
        cache_(mode_.has_locks ? cache_type(values_, locks_, lasting(orders), own_loader())
                               : cache_type(values_, lasting(orders), own_loader())) {
    // The library takes it for no mistake: a store in this process has its values as near as can
    // be.
    if (!mode_.keeps_near || values_.traits().across_processes) return;
    throw error(make_failure(errc::not_supported, "store " + values_.display_name() +
                                                      " keeps its values in the process already"));
  }

  store const& values() const override { return values_; }

  asio::awaitable<product> ask() override {
    if (mode_.who == guard_mode::loader::of_the_cache) {
      auto found = co_await cache_.async_get_or_load(key_.str(), asio::use_awaitable);
      if (!found) throw std::runtime_error("the product is said not to exist");
      co_return std::move(*found);
    }
    if (auto hit = co_await get()) co_return std::move(*hit);
    ++waited_;
    keyed_mutex::guard held;
    if (mode_.who == guard_mode::loader::each_process) {
      held = co_await mutex_.async_lock(key_.str(), asio::use_awaitable);
      if (auto hit = co_await get()) co_return std::move(*hit);
    }
    product loaded = co_await load_();
    co_await cache_.async_put(key_.str(), loaded, asio::use_awaitable);
    co_return loaded;
  }

  std::int64_t waited() const override {
    if (mode_.who != guard_mode::loader::of_the_cache) return waited_;
    return static_cast<std::int64_t>(cache_.stats().misses);
  }

  asio::awaitable<void> play_expiry(product before) override {
    if (mode_.comes_early) {
      // The election goes by the time that the entry's own load took. That of the old entry is
      // played, not asked of the database, so that its log has the loads of the requests alone.
      co_await remove();
      auto loader = [this, before]() -> asio::awaitable<std::optional<product>> {
        co_await sleep_for(load_time_);
        co_return before;
      };
      co_await expiring_.async_get_or_load(key_.str(), loader, asio::use_awaitable);
      co_return co_await sleep_for(least_age);
    }
    co_await expiring_.async_put(key_.str(), before, asio::use_awaitable);
    while (co_await get()) co_await sleep_for(milliseconds(5));
  }

  // What the processes kept of the product before its expiry is not served behind a fence.
  asio::awaitable<void> get_ready() override {
    if (mode_.keeps_near) co_await cache_.async_fence(asio::use_awaitable);
  }

  std::int64_t near_hits() const override {
    return static_cast<std::int64_t>(cache_.stats().near_hits);
  }

  asio::awaitable<void> remove() override {
    co_await cache_.async_invalidate(key_.str(), asio::use_awaitable);
  }

  asio::awaitable<void> look() override {
    if (mode_.has_locks) co_await lock(locks_, key_.str()).async_inspect(asio::use_awaitable);
    co_await get();
  }

 private:
  // What is there and fresh.
  asio::awaitable<std::optional<product>> get() {
    cached<product> found = co_await cache_.async_get(key_.str(), asio::use_awaitable);
    co_return found ? std::optional(*std::move(found)) : std::nullopt;
  }

  // It may run behind an answer, and owns what it uses.
  auto own_loader() const {
    auto load = [query = load_]() -> asio::awaitable<std::optional<product>> {
      co_return co_await query();
    };
    return owned_loader(values_.get_executor(), std::move(load));
  }

  guard_mode const& mode_;
  milliseconds const load_time_;
  load_product const load_;
  cache_key const key_;
  store const values_;
  store const locks_;
  keyed_mutex mutex_;
  std::int64_t waited_ = 0;
  cache_type const expiring_;
  cache_type const cache_;
};

using loader = guard_mode::loader;
constexpr guard_mode modes[] = {
    {"naive", "get; on a miss query and set: what most code does", loader::each_request},
    {"process", "a mutex per key in each process, then a second look", loader::each_process},
    {"fleet", "herdlock: one load for all, everyone gets its answer"},
    {.name = "early",
     .does = "refreshed before it expires: XFetch elects, one claims",
     .serves_old = true,
     .comes_early = true},
    {.name = "logical",
     .does = "stale ones are answered, one loads behind them",
     .serves_old = true},
    {.name = "double-lock",
     .does = "get, lock in another store, get again, load, set",
     .has_locks = true},
    {.name = "hash", .does = "as fleet; others read the entry field by field", .has_fields = true},
    {.name = "near",
     .does = "as fleet; each process keeps the product (Redis only)",
     .keeps_near = true},
};

}  // namespace

asio::awaitable<void> sleep_for(milliseconds time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  co_await timer.async_wait(asio::use_awaitable);
}

std::span<guard_mode const> all_modes() { return modes; }

milliseconds stampede_orders::head_start() const {
  if (!mode->comes_early) return milliseconds{0};
  // A refresh that begins with the requests is to end before the entry does, on a slow machine too.
  return origin.load_time + std::max(origin.load_time, milliseconds{100});
}

milliseconds stampede_orders::load_limit() const {
  return std::chrono::seconds(30) + 3 * origin.load_time + 2 * claim_ttl;
}

milliseconds stampede_orders::patience() const {
  auto const rounds = requests / connections + 1;
  return std::chrono::seconds(60) + 5 * rounds * origin.load_time + 5 * claim_ttl +
         milliseconds(std::int64_t{processes} * requests);
}

std::unique_ptr<scheme> make_scheme(stampede_orders const& orders,
                                    std::function<asio::awaitable<product>()> load) {
  if (orders.mode->has_fields) {
    return std::make_unique<cached_scheme<product_fields>>(orders, std::move(load));
  }
  return std::make_unique<cached_scheme<product_json>>(orders, std::move(load));
}

}  // namespace herdlock::lab
