#include <herdlock/keyed_mutex.hpp>
#include <herdlock/lock.hpp>

#include "scenes/stampede.hpp"
#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

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
  if (mode.serves_old && !mode.comes_early) options.freshness.grace = std::chrono::minutes(10);
  options.near.mode = mode.keeps_near ? near_cache::all : near_cache::off;
  return options;
}

// The entry that the requests are to find, or no longer.
cache_options expiring(stampede_orders const& orders) {
  cache_options options = lasting(orders);
  options.ttl = milliseconds(20);
  // Longer than the pause that a process makes between two refreshes of a key.
  if (orders.mode->serves_old) options.ttl = milliseconds(100);
  if (orders.mode->comes_early) options.ttl = least_age + orders.head_start();
  return options;
}

template <class Codec>
class cached_scheme final : public scheme {
 public:
  using cache_type = cache<product, Codec>;
  using load_product = std::function<awaitable<product>()>;

  cached_scheme(stampede_orders const& orders, load_product load)
      : orders_(orders),
        load_(std::move(load)),
        cache_(mode_.has_locks ? cache_type(values_, locks_, lasting(orders), own_loader())
                               : cache_type(values_, lasting(orders), own_loader())) {
    // The library takes it for no mistake: a store in this process has its values as near as can
    // be.
    if (!mode_.keeps_near || values_.traits().across_processes) return;
    throw error(make_failure(errc::not_supported, "store " + values_.display_name() +
                                                      " keeps its values in the process already"));
  }

  store const& values() const override { return values_; }

  awaitable<product> ask() override {
    if (mode_.who == guard_mode::loader::of_the_cache) {
      auto found = co_await cache_.async_get_or_load(key_, use_awaitable);
      if (!found) throw std::runtime_error("the product is said not to exist");
      co_return std::move(*found);
    }
    if (auto hit = co_await get()) co_return std::move(*hit);
    ++waited_;
    keyed_mutex::guard held;
    if (mode_.who == guard_mode::loader::each_process) {
      held = co_await mutex_.async_lock(key_, use_awaitable);
      if (auto hit = co_await get()) co_return std::move(*hit);
    }
    product loaded = co_await load_();
    co_await cache_.async_put(key_, loaded, use_awaitable);
    co_return loaded;
  }

  cache_stats stats() const override {
    auto all = cache_.stats();
    if (mode_.who != guard_mode::loader::of_the_cache) all.misses = waited_;
    return all;
  }

  awaitable<void> play_expiry(product before) override {
    if (mode_.comes_early) {
      // The election goes by the time that the entry's own load took. That of the old entry is
      // played, not asked of the database, so that its log has the loads of the requests alone.
      co_await remove();
      auto loader = [this, before]() -> awaitable<std::optional<product>> {
        co_await sleep_for(orders_.origin.load_time);
        co_return before;
      };
      co_await expiring_.async_get_or_load(key_, loader, use_awaitable);
      co_return co_await sleep_for(least_age);
    }
    co_await expiring_.async_put(key_, before, use_awaitable);
    while (co_await get()) co_await sleep_for(milliseconds(5));
  }

  // What the processes kept of the product before its expiry is not served behind a fence.
  awaitable<void> get_ready() override {
    if (mode_.keeps_near) co_await cache_.async_fence(use_awaitable);
  }

  awaitable<void> remove() override { co_await cache_.async_invalidate(key_, use_awaitable); }

  awaitable<void> look() override {
    if (mode_.has_locks) co_await lock(locks_, key_).async_inspect(use_awaitable);
    co_await get();
  }

 private:
  // What is there and fresh.
  awaitable<std::optional<product>> get() {
    cached<product> found = co_await cache_.async_get(key_, use_awaitable);
    co_return found ? std::optional(*std::move(found)) : std::nullopt;
  }

  // It may run behind an answer, and owns what it uses.
  auto own_loader() const {
    auto load = [query = load_]() -> awaitable<std::optional<product>> {
      co_return co_await query();
    };
    return owned_loader(values_.get_executor(), std::move(load));
  }

  stampede_orders const& orders_;
  load_product const load_;
  guard_mode const& mode_ = *orders_.mode;
  std::string const& key_ = orders_.key;
  store const values_ = open_here(orders_.store_url);
  store const locks_ = mode_.has_locks ? open_here(orders_.locks_url) : values_;
  keyed_mutex mutex_{
      {.max_waiters_per_key = stampede_orders::max_requests, .executor = values_.get_executor()}};
  std::uint64_t waited_ = 0;
  cache_type const expiring_{values_, expiring(orders_)};
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

std::span<guard_mode const> all_modes() { return modes; }

std::unique_ptr<scheme> make_scheme(stampede_orders const& orders,
                                    std::function<awaitable<product>()> load) {
  if (orders.mode->has_fields) {
    return std::make_unique<cached_scheme<codec<product>>>(orders, std::move(load));
  }
  return std::make_unique<cached_scheme<product_json>>(orders, std::move(load));
}

}  // namespace herdlock::lab
