// Scene `freshness`, the fleet at one key: early refresh with and without the claim, and an outage
// of the loader.
#include <stdexcept>

#include "scenes/freshness_worker.hpp"

namespace herdlock::lab::freshness {
namespace {

cache_options terms_of(terms const& how) {
  cache_options all{.prefix = "aged:", .ttl = how.ttl, .ttl_jitter = 0};
  all.format = cache_format::framed;
  all.near = near_cache::off;  // the entry ends, and each answer comes from the server
  if (how.what == "outage") {
    all.grace = std::chrono::hours(1);
    all.fail_safe = true;
    all.error_back_off = how.first;
    all.max_error_back_off = how.most;
  } else if (how.what == "claim") {
    all.early_refresh = how.beta;
    all.grace =
        std::chrono::hours(1);  // should a machine stand still for longer than the head start
  }
  return all;
}

class key_worker : public worker {
 public:
  key_worker(terms const& how, board& seen, std::string const& url)
      : worker(how, seen, url),
        aged_(store_, terms_of(how),
              owned_loader(io_.get_executor(), [this](load_context const&) { return load(); })),
        plain_(store_, {.prefix = "plain:", .ttl = std::chrono::hours(1)}) {}

 private:
  awaitable<text> load() {
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
  awaitable<void> load_alone() {
    auto const left = static_cast<double>(seen_.expires - steady_ns());
    auto const taken = static_cast<double>(in_ns(how_.load));
    bool const dead = seen_.generation == 0 || left <= 0;
    if (!dead && -how_.beta * taken * std::log1p(-share(0, 1)) < left) co_return;
    auto loading = load();
    auto const value = co_await std::move(loading);
    auto putting = aged_.async_put("k", *value);
    co_await std::move(putting);
  }

  awaitable<void> begin() override {
    auto putting = plain_.async_put("k", "v");
    co_await std::move(putting);
  }

  awaitable<void> ask() override {
    bool const is_served = seen_.generation > 0;
    auto const began = steady_ns();
    try {
      if (how_.what == "alone") {
        auto alone = load_alone();
        co_await std::move(alone);
      } else {
        auto call = aged_.async_get_or_load("k");
        co_await std::move(call);
      }
      auto const ended = steady_ns();
      ++seen_.calls;
      if (is_served) seen_.cached.note(ended - began);
      auto look = plain_.async_get("k");
      co_await std::move(look);
      seen_.plain.note(steady_ns() - ended);
      // Whoever came before there was anything had to wait.
      if (calls_++ < how_.callers) misses_at_first_ = misses();
    } catch (std::exception const&) {
      ++seen_.errors;
    }
  }

  std::vector<cache_stats> stats() const override { return {aged_.stats()}; }

  cache<std::string> aged_, plain_;
  int calls_ = 0;
};

}  // namespace

void work_at_one_key(terms const& how, board& seen, std::string const& url) {
  key_worker(how, seen, url).run();
}

}  // namespace herdlock::lab::freshness
