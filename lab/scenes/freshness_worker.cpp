// Scene `freshness`: a process of the fleet. It is its callers, each of which asks, pauses, and
// asks again.
#include <boost/asio/io_context.hpp>
#include <herdlock/herdlock.hpp>
#include <map>
#include <random>

#include "scenes/freshness.hpp"
#include "stage/coroutines.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::freshness {
namespace {

using std::chrono::hours;
using texts = cache<std::string>;
using text = std::optional<std::string>;

cache_options aged_terms(terms const& how) {
  cache_options all{.prefix = "aged:", .ttl = how.ttl, .format = cache_format::framed};
  // claim: should a machine stand still for longer than the head start.
  if (how.what != "alone") all.freshness.grace = hours(1);
  if (how.what == "full") return all;
  all.ttl_jitter = 0;
  all.near.mode = near_cache::off;  // the entry ends, and each answer comes from the server
  if (how.what == "claim") all.early_refresh = how.beta;
  if (how.what == "outage") {
    all.freshness.fail_safe = true;
    all.error_back_off = how.first;
    all.freshness.max_error_back_off = how.most;
  }
  return all;
}

// A cache's own.
auto loader_of(asio::io_context& io, std::function<awaitable<text>()> const& load) {
  return owned_loader(io.get_executor(), [load](load_context const&) { return load(); });
}

// Each caller asks for a key that becomes stale, and looks at one that is there for long; `full`:
// for one of many of each, and, once the store is full, for one that was never there.
struct worker {
  terms const& how;
  board& seen;
  std::string const& url;
  asio::io_context io{};
  store values = open_here(url, {.executor = io.get_executor(), .guard = executor_guard::none});
  std::function<awaitable<text>()> loads = [this] { return load(); };
  texts aged{values, aged_terms(how), loader_of(io, loads)};
  texts cached{values, {.prefix = "cached:", .ttl = hours(1)}, loader_of(io, loads)};
  texts missing{values, {.prefix = "missing:", .ttl = hours(1)}};
  std::minstd_rand dice{std::random_device()()};
  std::map<std::string, std::int64_t> loaded{};  // when a key's last load ended while it was full
  std::uint64_t misses_at_first = 0;
  int ready = 0, ended = 0;  // callers

  void run() {
    for (int i = 0; i < how.callers; ++i) {
      asio::co_spawn(io, call(), [](std::exception_ptr const& why) {
        if (why) std::rethrow_exception(why);
      });
    }
    io.run();
  }

  bool has_many() const { return how.what == "full"; }
  bool is_full() const { return seen.store == memory::full; }
  int keys() const { return has_many() ? how.keys : 1; }
  std::string any_key() {
    return std::to_string(std::uniform_int_distribution(0, keys() - 1)(dice));
  }
  double share(double from, double to) { return std::uniform_real_distribution(from, to)(dice); }
  std::uint64_t misses() const { return aged.stats().misses + cached.stats().misses; }

  awaitable<void> call() {
    co_await begin();
    while (!seen.stop) {
      co_await ask();
      co_await sleep_for(std::chrono::duration_cast<milliseconds>(how.pause * share(0.5, 1.5)));
    }
    if (++ended < how.callers) co_return;
    seen.waited += misses() - misses_at_first;
    seen.stale += aged.stats().stale_hits + cached.stats().stale_hits;
    ++seen.ended;
    io.stop();
  }

  // Whoever comes before there is anything has to wait.
  awaitable<void> begin() {
    for (int i = 0; i < keys(); ++i) {
      co_await cached.async_put(std::to_string(i), "value", use_awaitable);
      co_await ask_for(aged, std::to_string(i));
    }
    if (++ready < how.callers) co_return;
    misses_at_first = misses();
    ++seen.warm;
  }

  awaitable<void> ask() {
    if (has_many()) co_await ask_for(cached, any_key());
    co_await ask_for(aged, any_key());
    if (seen.store != memory::room) co_await ask_for_missing(any_key());
    auto const began = steady_ns();
    try {
      co_await cached.async_get(any_key(), use_awaitable);
      if (is_full() || !has_many()) seen.plain.note(steady_ns() - began);
    } catch (std::exception const&) {
      ++seen.errors;
    }
  }

  awaitable<void> ask_for(texts const& of, std::string const& key) {
    bool const is_noted = has_many() ? is_full() : seen.generation > 0;
    auto const began = steady_ns();
    try {
      if (how.what == "alone") {
        co_await load_alone(key);
      } else {
        co_await of.async_get_or_load(key, use_awaitable);
      }
      ++seen.calls;
      if (is_noted) seen.cached.note(steady_ns() - began);
    } catch (std::exception const&) {
      ++seen.errors;
    }
  }

  awaitable<void> ask_for_missing(std::string const& key) {
    auto by = [this](load_context const& of) { return load_missing(of.key().str()); };
    try {
      co_await missing.async_get_or_load(key, by, use_awaitable);
    } catch (std::exception const&) {
      ++seen.errors_of_missing;
    }
  }

  // The next generation; with many keys these are nobody's.
  awaitable<text> load() {
    if (is_full()) ++seen.loads_of_cached;
    auto const generation = seen.generation.load();
    ++seen.begun[generation % most_generations];
    co_await sleep_for(how.load);
    auto const now = steady_ns();
    if (now >= seen.fails_from && now < seen.fails_until) {
      ++seen.failed_loads;
      note_first(seen.first_failed, now);
      throw std::runtime_error("the loader is down");
    }
    if (seen.fails_until != 0 && now >= seen.fails_until) note_first(seen.recovered, now);
    if (auto const expires = seen.expires.load()) seen.head_starts_ns += expires - now;
    seen.expires = now + in_ns(how.ttl);
    note_first(seen.first_fill, now);
    seen.last_fill = now;
    auto expected = generation;
    seen.generation.compare_exchange_strong(expected, generation + 1);
    co_return std::to_string(generation + 1);
  }

  // As each elected caller does it where nothing admits one.
  awaitable<void> load_alone(std::string key) {
    auto const left = static_cast<double>(seen.expires - steady_ns());
    auto const taken = static_cast<double>(in_ns(how.load));
    bool const dead = seen.generation == 0 || left <= 0;
    if (!dead && -how.beta * taken * std::log1p(-share(0, 1)) < left) co_return;
    auto const value = co_await load();
    co_await aged.async_put(key, *value, use_awaitable);
  }

  awaitable<text> load_missing(std::string key) {
    bool const counts = is_full();
    if (counts) {
      ++seen.loads_of_missing;
      auto const last = loaded.find(key);
      auto const gap = last == loaded.end() ? 0 : steady_ns() - last->second;
      auto least = seen.least_gap_ns.load();
      while (gap > 0 && (least == 0 || gap < least) &&
             !seen.least_gap_ns.compare_exchange_weak(least, gap)) {
      }
    }
    co_await sleep_for(how.load);
    if (counts) loaded[key] = steady_ns();
    co_return "value";
  }
};

}  // namespace

void work(terms const& how, board& seen, std::string const& url) { worker{how, seen, url}.run(); }

}  // namespace herdlock::lab::freshness
