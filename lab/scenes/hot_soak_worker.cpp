// Scene `hot-soak`, in a process of the fleet.
#include <herdlock/cache.hpp>
#include <memory>
#include <thread>

#include "scenes/hot_soak.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::hot_soak {
namespace {

std::string loaded() { return "0"; }

cache_options options_of(terms const& how) {
  cache_options all{.prefix = no_prefix, .ttl = how.ttl, .ttl_jitter = 0};
  all.hot_keys = hot_keys_options{.threshold = 1000, .window = how.window};
  return all;
}

void nap(int ms) { std::this_thread::sleep_for(milliseconds(ms)); }

// Calls that are over 100 ms late are left out.
void await(pace& steps) {
  steps.go_on();
  while (steady_ns() - steps.due() > 100'000'000) steps.go_on();
  steps.await();
}

class worker {
 public:
  worker(terms const& how, board& seen, std::size_t number, std::string const& url)
      : how_(how),
        seen_(seen),
        own_(seen.processes[number]),
        cache_(open_here(url), options_of(how)) {}

  void run() {
    ++seen_.joined;
    if (how_.what == "burst") in_bursts();
    if (how_.what == "even") evenly();
    if (how_.what == "crowd") crowd();
    auto const stats = cache_.stats();
    own_.near_hits = stats.near_hits;
    own_.misses = stats.misses - first_misses_;
    own_.became_hot = cache_.hot_stats().became_hot;
    own_.cooled = cache_.hot_stats().cooled;
    ++seen_.ended;
  }

 private:
  void in_bursts() {
    int last = 0;
    while (!seen_.stop) {
      int const burst = seen_.burst;
      if (burst != 0 && burst != last) {
        last = burst;
        play(burst);
      } else {
        nap(1);
      }
    }
  }

  // Two calls in a row that get the same object: it is kept.
  void play(int number) {
    std::string const key = "burst" + std::to_string(number);
    burst& its = own_.bursts[static_cast<std::size_t>(number)];
    pace steps(steady_ns(), how_.rate);
    std::shared_ptr<std::string const> last;
    std::int64_t before = steady_ns();
    while (seen_.burst == number && !seen_.stop) {
      await(steps);
      auto const from = steady_ns();
      auto value = cache_.get_or_load_shared(key, loaded);
      auto const to = steady_ns();
      ++own_.calls;
      if (its.kept_ns != 0) continue;
      if (value == last) {
        its.kept_ns = to;
        continue;
      }
      last = std::move(value);
      ++its.asked;
      raise_to(its.slowest_ns, to - from);
      raise_to(its.longest_ns, to - before);
      before = to;
    }
  }

  void evenly() {
    pace steps(steady_ns(), how_.rate);
    while (!seen_.stop) {
      await(steps);
      ++own_.calls;
      cache_.get_or_load("even", loaded);
    }
  }

  void crowd() {
    auto const loaded_again = [this] { return std::to_string(seen_.acknowledged); };
    cache_.get_or_load("crowd", loaded_again);
    first_misses_ = cache_.stats().misses;
    while (!seen_.quiet && !seen_.stop) {
      bool const fenced = ++own_.calls % 1000 == 0;
      std::uint64_t const written = seen_.acknowledged;
      if (fenced) cache_.fence();
      auto const value = cache_.get_or_load_shared("crowd", loaded_again);
      if (!fenced) continue;
      own_.reported = cache_.fleet_stats().reported;
      own_.near_hits = cache_.stats().near_hits;
      ++own_.behind_fence;
      own_.stale += std::stoull(*value) < written;
    }
    auto const since = steady_ns();
    while (!seen_.stop) {
      if (cache_.stats().near_entries == 0) note_first(own_.let_go_ns, steady_ns() - since);
      nap(10);
    }
  }

  terms const& how_;
  board& seen_;
  process& own_;
  cache<std::string> cache_;
  std::uint64_t first_misses_ = 0;
};

}  // namespace

void work(terms const& how, board& seen, std::size_t number, std::string const& url) {
  worker(how, seen, number, url).run();
}

}  // namespace herdlock::lab::hot_soak
