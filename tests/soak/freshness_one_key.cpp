// freshness_soak, the fleet at one key: early refresh with and without the claim, and an outage of
// the loader.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <herdlock/herdlock.hpp>
#include <random>
#include <stdexcept>
#include <string>

#include "freshness_soak.hpp"

namespace herdlock_test {
namespace {

using namespace std::chrono_literals;
using namespace herdlock;
namespace asio = boost::asio;

class key_worker {
 public:
  explicit key_worker(soak_options const& options)
      : options_(options),
        shared_(shared_figures<figures>(options.shared)),
        store_(open_store(options.url,
                          {.executor = io_.get_executor(), .guard = executor_guard::none})),
        aged_(store_, terms(options),
              owned_loader(io_.get_executor(), [this](load_context const&) { return load(); })),
        plain_(store_, {.prefix = "plain:", .ttl = 1h}) {}

  void run() {
    for (int i = 0; i < options_.callers; ++i) asio::co_spawn(io_, call_on(), asio::detached);
    io_.run();
  }

 private:
  static cache_options terms(soak_options const& options) {
    cache_options terms{.prefix = "aged:", .ttl = options.ttl, .ttl_jitter = 0};
    terms.format = cache_format::framed;
    terms.near = near_cache::off;  // the entry ends, and each answer comes from the server
    if (options.what == "outage") {
      terms.grace = 1h;
      terms.fail_safe = true;
      terms.error_back_off = options.first;
      terms.max_error_back_off = options.most;
    } else if (options.what == "claim") {
      terms.early_refresh = options.beta;
      terms.grace = 1h;  // should a machine stand still for longer than the head start
    }
    return terms;
  }

  asio::awaitable<std::optional<std::string>> load() {
    auto const generation = shared_.generation.load();
    ++shared_.begun.at(generation % most_generations);
    co_await pause_for(io_, options_.load);
    auto const now = now_us();
    std::int64_t none = 0;
    if (now >= shared_.fails_from_us && now < shared_.fails_until_us) {
      ++shared_.failed_loads;
      shared_.first_failed_us.compare_exchange_strong(none, now);
      throw std::runtime_error("the loader is down");
    }
    if (shared_.fails_until_us != 0 && now >= shared_.fails_until_us) {
      shared_.recovered_us.compare_exchange_strong(none, now);
    }
    if (auto const expires = shared_.expires_us.load()) shared_.head_starts_us += expires - now;
    shared_.expires_us = now + in_us(options_.ttl);
    none = 0;
    shared_.first_fill_us.compare_exchange_strong(none, now);
    shared_.last_fill_us = now;
    auto expected = generation;
    shared_.generation.compare_exchange_strong(expected, generation + 1);
    co_return std::to_string(generation + 1);
  }

  // As each elected caller does it where nothing admits one.
  asio::awaitable<void> load_alone() {
    double const left = double(shared_.expires_us - now_us());
    double const taken = double(in_us(options_.load));
    std::uniform_real_distribution<double> unit;
    bool const dead = shared_.generation == 0 || left <= 0;
    if (!dead && -options_.beta * taken * std::log1p(-unit(dice_)) < left) co_return;
    auto loading = load();
    auto const value = co_await std::move(loading);
    auto putting = aged_.async_put("k", *value);
    co_await std::move(putting);
  }

  asio::awaitable<void> call_on() {
    std::uniform_real_distribution<double> share(0.5, 1.5);
    while (!shared_.stop) {
      bool const served = shared_.generation > 0;
      auto const began = now_us();
      try {
        if (options_.what == "alone") {
          auto alone = load_alone();
          co_await std::move(alone);
        } else {
          auto call = aged_.async_get_or_load("k");
          co_await std::move(call);
        }
        auto const ended = now_us();
        ++shared_.calls;
        if (served) shared_.cached.note(ended - began);
        auto look = plain_.async_get("k");
        co_await std::move(look);
        shared_.plain.note(now_us() - ended);
        // Whoever came before there was anything had to wait.
        if (calls_++ < options_.callers) at_first_ = aged_.stats().misses;
      } catch (std::exception const&) {
        ++shared_.errors;
      }
      auto const span = double(options_.pause.count()) * share(dice_);
      co_await pause_for(io_, milliseconds(static_cast<std::int64_t>(span)));
    }
    if (--callers_ > 0) co_return;
    auto const stats = aged_.stats();
    shared_.waited += stats.misses - at_first_;
    shared_.stale += stats.stale_hits;
    ++shared_.ended;
    io_.stop();
  }

  soak_options options_;
  figures& shared_;
  asio::io_context io_;
  store store_;
  cache<std::string> aged_, plain_;
  std::minstd_rand dice_{std::random_device()()};
  int callers_ = options_.callers;
  int calls_ = 0;
  std::uint64_t at_first_ = 0;
};

}  // namespace

void work_at_one_key(soak_options const& options) { key_worker(options).run(); }

}  // namespace herdlock_test
