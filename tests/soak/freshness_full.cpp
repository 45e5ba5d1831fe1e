// freshness_soak, a store that is full for a while: it refuses each write, and answers each read.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <map>
#include <random>
#include <string>

#include "freshness_soak.hpp"

namespace herdlock_test {
namespace {

using namespace std::chrono_literals;
using namespace herdlock;
namespace asio = boost::asio;

// Each caller asks for a key that is there for long, for one that becomes stale, and, when the
// store is full, for one that was never there.
class store_worker {
 public:
  explicit store_worker(soak_options const& options)
      : options_(options),
        shared_(shared_figures<figures>(options.shared)),
        store_(open_store(options.url,
                          {.executor = io_.get_executor(), .guard = executor_guard::none})),
        cached_(store_, {.prefix = "cached:", .ttl = 1h}),
        aged_(store_,
              {.prefix = "aged:", .ttl = options.ttl, .format = cache_format::framed, .grace = 1h},
              owned_loader(io_.get_executor(),
                           [this](load_context const&) { return load_cached(); })),
        missing_(store_, {.prefix = "missing:", .ttl = 1h}) {}

  void run() {
    for (int i = 0; i < options_.callers; ++i) asio::co_spawn(io_, call_on(), asio::detached);
    io_.run();
  }

 private:
  bool full() const { return shared_.store == memory::full; }

  asio::awaitable<std::optional<std::string>> load_cached() {
    if (full()) ++shared_.loads_of_cached;
    co_await pause_for(io_, options_.load);
    co_return "value";
  }

  asio::awaitable<std::optional<std::string>> load_missing(load_context const& context) {
    std::string const key = context.key().str();
    bool const counts = full();
    if (counts) {
      ++shared_.loads_of_missing;
      auto const last = ended_us_.find(key);
      if (last != ended_us_.end()) note_gap(now_us() - last->second);
    }
    co_await pause_for(io_, options_.load);
    if (counts) ended_us_[key] = now_us();
    co_return "value";
  }

  void note_gap(std::int64_t gap) {
    auto least = shared_.least_gap_us.load();
    while ((least == 0 || gap < least) && !shared_.least_gap_us.compare_exchange_weak(least, gap)) {
    }
  }

  asio::awaitable<void> ask(cache<std::string> const& of, std::string const& key) {
    auto const began = now_us();
    auto loader = [this](load_context const&) { return load_cached(); };
    try {
      if (&of == &aged_) {
        auto call = of.async_get_or_load(key);
        co_await std::move(call);
      } else {
        auto call = of.async_get_or_load(key, loader);
        co_await std::move(call);
      }
      ++shared_.calls;
      if (full()) shared_.cached.note(now_us() - began);
    } catch (std::exception const&) {
      ++shared_.errors;
    }
  }

  asio::awaitable<void> ask_for_missing(std::string const& key) {
    auto loader = [this](load_context const& context) { return load_missing(context); };
    try {
      auto call = missing_.async_get_or_load(key, loader);
      co_await std::move(call);
    } catch (std::exception const&) {
      ++shared_.errors_of_missing;
    }
  }

  asio::awaitable<void> look(std::string const& key) {
    auto const began = now_us();
    auto call = cached_.async_get(key);
    co_await std::move(call);
    if (full()) shared_.plain.note(now_us() - began);
  }

  asio::awaitable<void> call_on() {
    std::uniform_int_distribution<int> any(0, options_.keys - 1);
    std::uniform_real_distribution<double> share(0.5, 1.5);
    for (int i = 0; i < options_.keys; ++i) {
      co_await ask(cached_, std::to_string(i));
      co_await ask(aged_, std::to_string(i));
    }
    if (++ready_ == options_.callers) {
      at_first_ = misses();
      ++shared_.warm;
    }
    while (!shared_.stop) {
      co_await ask(cached_, std::to_string(any(dice_)));
      co_await ask(aged_, std::to_string(any(dice_)));
      co_await look(std::to_string(any(dice_)));
      if (shared_.store != memory::room) co_await ask_for_missing(std::to_string(any(dice_)));
      auto const span = double(options_.pause.count()) * share(dice_);
      co_await pause_for(io_, milliseconds(static_cast<std::int64_t>(span)));
    }
    if (--callers_ > 0) co_return;
    shared_.waited += misses() - at_first_;
    shared_.stale += aged_.stats().stale_hits;
    ++shared_.ended;
    io_.stop();
  }

  std::uint64_t misses() const { return cached_.stats().misses + aged_.stats().misses; }

  soak_options options_;
  figures& shared_;
  asio::io_context io_;
  store store_;
  cache<std::string> cached_, aged_, missing_;
  std::minstd_rand dice_{std::random_device()()};
  std::map<std::string, std::int64_t> ended_us_;  // the last load of a key while it was full
  int callers_ = options_.callers;
  int ready_ = 0;
  std::uint64_t at_first_ = 0;
};

}  // namespace

void work_at_a_full_store(soak_options const& options) { store_worker(options).run(); }

void play_full(soak_options const& options, redis_server const& server, figures& seen,
               waiting const& wait_for, verdict& how) {
  wait_for([&] { return seen.warm == options.processes; });
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  seen.store = memory::full;
  auto const began = now_us();
  wait_for([&] { return now_us() - began >= in_us(options.outage); });
  seen.store = memory::room_again;
  double const full_s = double(now_us() - began) / 1e6;
  std::vector<std::string> filled{"EXISTS"};
  for (int i = 0; i < options.keys; ++i) filled.push_back("missing:" + std::to_string(i));
  bool const refused = server.command(filled) == "0";
  server.command({"CONFIG", "SET", "maxmemory", "0"});
  auto const room = now_us();
  std::int64_t first = 0, last = 0;
  wait_for([&] {
    auto const there = std::stoi(server.command(filled));
    if (there > 0 && first == 0) first = now_us();
    if (there == options.keys) last = now_us();
    return last != 0;
  });
  double const first_ms = double(first - room) / 1e3, last_ms = double(last - room) / 1e3;
  auto const count = [](std::atomic<std::uint64_t> const& of) {
    return static_cast<unsigned long long>(of);
  };
  std::printf("full for %.1f s; loads of cached keys %llu, of %d missing keys %llu\n", full_s,
              count(seen.loads_of_cached), options.keys, count(seen.loads_of_missing));
  std::printf("from one load of a missing key to its next in a process at least %.1f ms\n",
              double(seen.least_gap_us) / 1e3);
  std::printf("after there was room: the first fill %.0f ms, the last of all keys %.0f ms\n",
              first_ms, last_ms);
  how.demand(refused, "a full store stores nothing");
  how.demand(seen.loads_of_missing > 0, "what is missing is loaded without the store");
  how.demand(seen.errors_of_missing == 0, "nobody who asked for a missing key had an error");
  bool const once = seen.least_gap_us == 0 || seen.least_gap_us >= in_us(kept_without_store);
  how.demand(once, "one load for each missing key, process and 250 ms");
  auto const most = static_cast<std::uint64_t>(options.keys);
  how.demand(seen.loads_of_cached <= most, "a refresh of a cached key was under way at most");
  how.demand(first_ms <= 1000 + double(options.excess.count()), "fills resume within a second");
}

}  // namespace herdlock_test
