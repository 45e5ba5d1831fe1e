// Scene `freshness`, a store that is full for a while: it refuses each write, and answers each
// read.
#include <map>

#include "scenes/freshness_worker.hpp"

namespace herdlock::lab::freshness {
namespace {

using std::chrono::hours;

// Each caller asks for a key that is there for long, for one that becomes stale, and, when the
// store is full, for one that was never there.
class store_worker : public worker {
 public:
  store_worker(terms const& how, board& seen, std::string const& url)
      : worker(how, seen, url),
        cached_(store_, {.prefix = "cached:", .ttl = hours(1)}),
        aged_(store_, aged(how.ttl),
              owned_loader(io_.get_executor(), [this](load_context const&) { return load(); })),
        missing_(store_, {.prefix = "missing:", .ttl = hours(1)}) {}

 private:
  static cache_options aged(milliseconds ttl) {
    return {.prefix = "aged:", .ttl = ttl, .format = cache_format::framed, .grace = hours(1)};
  }
  bool is_full() const { return seen_.store == memory::full; }

  awaitable<text> load() {
    if (is_full()) ++seen_.loads_of_cached;
    co_await pass(how_.load);
    co_return "value";
  }

  awaitable<text> load_missing(std::string key) {
    bool const counts = is_full();
    if (counts) {
      ++seen_.loads_of_missing;
      auto const last = ended_.find(key);
      if (last != ended_.end()) note_gap(steady_ns() - last->second);
    }
    co_await pass(how_.load);
    if (counts) ended_[key] = steady_ns();
    co_return "value";
  }

  void note_gap(std::int64_t gap) {
    auto least = seen_.least_gap_ns.load();
    while ((least == 0 || gap < least) && !seen_.least_gap_ns.compare_exchange_weak(least, gap)) {
    }
  }

  awaitable<void> ask_for(cache<std::string> const& of, std::string const& key) {
    auto const began = steady_ns();
    auto loader = [this](load_context const&) { return load(); };
    try {
      if (&of == &aged_) {
        auto call = of.async_get_or_load(key);
        co_await std::move(call);
      } else {
        auto call = of.async_get_or_load(key, loader);
        co_await std::move(call);
      }
      ++seen_.calls;
      if (is_full()) seen_.cached.note(steady_ns() - began);
    } catch (std::exception const&) {
      ++seen_.errors;
    }
  }

  awaitable<void> ask_for_missing(std::string const& key) {
    auto loader = [this](load_context const& of) { return load_missing(of.key().str()); };
    try {
      auto call = missing_.async_get_or_load(key, loader);
      co_await std::move(call);
    } catch (std::exception const&) {
      ++seen_.errors_of_missing;
    }
  }

  awaitable<void> begin() override {
    for (int i = 0; i < how_.keys; ++i) {
      co_await ask_for(cached_, std::to_string(i));
      co_await ask_for(aged_, std::to_string(i));
    }
    if (++ready_ < how_.callers) co_return;
    misses_at_first_ = misses();
    ++seen_.warm;
  }

  awaitable<void> ask() override {
    co_await ask_for(cached_, any_key());
    co_await ask_for(aged_, any_key());
    auto const began = steady_ns();
    auto look = cached_.async_get(any_key());
    co_await std::move(look);
    if (is_full()) seen_.plain.note(steady_ns() - began);
    if (seen_.store != memory::room) co_await ask_for_missing(any_key());
  }

  std::string any_key() {
    return std::to_string(std::uniform_int_distribution<int>(0, how_.keys - 1)(dice_));
  }
  std::vector<cache_stats> stats() const override { return {cached_.stats(), aged_.stats()}; }

  cache<std::string> cached_, aged_, missing_;
  std::map<std::string, std::int64_t> ended_;  // the last load of a key while it was full
  int ready_ = 0;
};

}  // namespace

void work_at_a_full_store(terms const& how, board& seen, std::string const& url) {
  store_worker(how, seen, url).run();
}

}  // namespace herdlock::lab::freshness
