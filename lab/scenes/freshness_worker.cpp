// Scene `freshness`: a process of the fleet. It is its callers, each of which asks, pauses, and
// asks again.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/herdlock.hpp>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>

#include "scenes/freshness.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::freshness {
namespace {

using std::chrono::hours;
using texts = cache<std::string>;
using text = std::optional<std::string>;
template <class T>
using awaitable = boost::asio::awaitable<T>;

cache_options aged(terms const& how) {
  cache_options all{.prefix = "aged:", .ttl = how.ttl};
  all.format = cache_format::framed;
  // claim: should a machine stand still for longer than the head start.
  if (how.what != "alone") all.grace = hours(1);
  if (how.what == "full") return all;
  all.ttl_jitter = 0;
  all.near = near_cache::off;  // the entry ends, and each answer comes from the server
  if (how.what == "claim") all.early_refresh = how.beta;
  if (how.what == "outage") {
    all.fail_safe = true;
    all.error_back_off = how.first;
    all.max_error_back_off = how.most;
  }
  return all;
}

// Each caller asks for a key that becomes stale, and looks at one that is there for long; `full`:
// for one of many of each, and, once the store is full, for one that was never there.
class worker {
  auto loader() {
    return owned_loader(io_.get_executor(), [this](load_context const&) { return load(); });
  }

 public:
  worker(terms const& how, board& seen, std::string const& url)
      : how_(how),
        seen_(seen),
        store_(open_here(url, {.executor = io_.get_executor(), .guard = executor_guard::none})),
        aged_(store_, aged(how), loader()),
        cached_(store_, {.prefix = "cached:", .ttl = hours(1)}, loader()),
        missing_(store_, {.prefix = "missing:", .ttl = hours(1)}) {}

  void run() {
    auto const told = [](std::exception_ptr const& why) {
      if (why) std::rethrow_exception(why);
    };
    for (int i = 0; i < how_.callers; ++i) boost::asio::co_spawn(io_, call(), told);
    io_.run();
  }

 private:
  bool has_many() const { return how_.what == "full"; }
  bool is_full() const { return seen_.store == memory::full; }
  int keys() const { return has_many() ? how_.keys : 1; }
  std::string any_key() {
    return std::to_string(std::uniform_int_distribution<int>(0, keys() - 1)(dice_));
  }
  double share(double from, double to) {
    return std::uniform_real_distribution<double>(from, to)(dice_);
  }
  std::uint64_t misses() const { return aged_.stats().misses + cached_.stats().misses; }

  awaitable<void> pass(milliseconds span) {
    boost::asio::steady_timer timer(io_, span);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }

  awaitable<void> call() {
    co_await begin();
    while (!seen_.stop) {
      co_await ask();
      auto const span = static_cast<double>(how_.pause.count()) * share(0.5, 1.5);
      co_await pass(milliseconds(static_cast<std::int64_t>(span)));
    }
    if (++ended_ < how_.callers) co_return;
    seen_.waited += misses() - misses_at_first_;
    seen_.stale += aged_.stats().stale_hits + cached_.stats().stale_hits;
    ++seen_.ended;
    io_.stop();
  }

  // Whoever comes before there is anything has to wait.
  awaitable<void> begin() {
    for (int i = 0; i < keys(); ++i) {
      auto putting = cached_.async_put(std::to_string(i), "value");
      co_await std::move(putting);
      co_await ask_for(aged_, std::to_string(i));
    }
    if (++ready_ < how_.callers) co_return;
    misses_at_first_ = misses();
    ++seen_.warm;
  }

  awaitable<void> ask() {
    if (has_many()) co_await ask_for(cached_, any_key());
    co_await ask_for(aged_, any_key());
    if (seen_.store != memory::room) co_await ask_for_missing(any_key());
    auto const began = steady_ns();
    try {
      auto look = cached_.async_get(any_key());
      co_await std::move(look);
      if (is_full() || !has_many()) seen_.plain.note(steady_ns() - began);
    } catch (std::exception const&) {
      ++seen_.errors;
    }
  }

  awaitable<void> ask_for(texts const& of, std::string const& key) {
    bool const is_noted = has_many() ? is_full() : seen_.generation > 0;
    auto const began = steady_ns();
    try {
      if (how_.what == "alone") {
        co_await load_alone(key);
      } else {
        auto asking = of.async_get_or_load(key);
        co_await std::move(asking);
      }
      ++seen_.calls;
      if (is_noted) seen_.cached.note(steady_ns() - began);
    } catch (std::exception const&) {
      ++seen_.errors;
    }
  }

  awaitable<void> ask_for_missing(std::string const& key) {
    auto by = [this](load_context const& of) { return load_missing(of.key().str()); };
    try {
      auto asking = missing_.async_get_or_load(key, by);
      co_await std::move(asking);
    } catch (std::exception const&) {
      ++seen_.errors_of_missing;
    }
  }

  // The next generation; with many keys these are nobody's.
  awaitable<text> load() {
    if (is_full()) ++seen_.loads_of_cached;
    auto const generation = seen_.generation.load();
    ++seen_.begun[generation % most_generations];
    co_await pass(how_.load);
    auto const now = steady_ns();
    if (now >= seen_.fails_from && now < seen_.fails_until) {
      ++seen_.failed_loads;
      note_first(seen_.first_failed, now);
      throw std::runtime_error("the loader is down");
    }
    if (seen_.fails_until != 0 && now >= seen_.fails_until) note_first(seen_.recovered, now);
    if (auto const expires = seen_.expires.load()) seen_.head_starts_ns += expires - now;
    seen_.expires = now + in_ns(how_.ttl);
    note_first(seen_.first_fill, now);
    seen_.last_fill = now;
    auto expected = generation;
    seen_.generation.compare_exchange_strong(expected, generation + 1);
    co_return std::to_string(generation + 1);
  }

  // As each elected caller does it where nothing admits one.
  awaitable<void> load_alone(std::string key) {
    auto const left = static_cast<double>(seen_.expires - steady_ns());
    auto const taken = static_cast<double>(in_ns(how_.load));
    bool const dead = seen_.generation == 0 || left <= 0;
    if (!dead && -how_.beta * taken * std::log1p(-share(0, 1)) < left) co_return;
    auto const value = co_await load();
    auto putting = aged_.async_put(key, *value);
    co_await std::move(putting);
  }

  awaitable<text> load_missing(std::string key) {
    bool const counts = is_full();
    if (counts) {
      ++seen_.loads_of_missing;
      auto const last = loaded_.find(key);
      if (last != loaded_.end()) note_gap(steady_ns() - last->second);
    }
    co_await pass(how_.load);
    if (counts) loaded_[key] = steady_ns();
    co_return "value";
  }

  void note_gap(std::int64_t gap) {
    auto least = seen_.least_gap_ns.load();
    while ((least == 0 || gap < least) && !seen_.least_gap_ns.compare_exchange_weak(least, gap)) {
    }
  }

  terms const& how_;
  board& seen_;
  boost::asio::io_context io_;
  store store_;
  texts aged_, cached_, missing_;
  std::minstd_rand dice_{std::random_device()()};
  std::map<std::string, std::int64_t> loaded_;  // when a key's last load ended while it was full
  std::uint64_t misses_at_first_ = 0;
  int ready_ = 0, ended_ = 0;  // callers
};

}  // namespace

void work(terms const& how, board& seen, std::string const& url) { worker(how, seen, url).run(); }

}  // namespace herdlock::lab::freshness
