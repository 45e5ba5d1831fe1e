// Scene `hot-soak`, in a process of the fleet.
#include <herdlock/cache.hpp>

#include "scenes/hot_soak.hpp"
#include "stage/place.hpp"

namespace herdlock::lab::hot_soak {
namespace {

std::string loaded() { return "0"; }

// Calls that are over 100 ms late are left out.
void await(pace& steps) {
  steps.go_on();
  while (steady_ns() - steps.due() > 100'000'000) steps.go_on();
  steps.await();
}

struct worker {
  terms const& how;
  board& seen;
  process& own;
  cache<std::string> const values;
  std::uint64_t first_misses = 0;

  void run() {
    ++seen.joined;
    if (how.what == "burst") in_bursts();
    if (how.what == "even") evenly();
    if (how.what == "crowd") crowd();
    own.near_hits = values.stats().near_hits;
    own.misses = values.stats().misses - first_misses;
    own.became_hot = values.hot_stats().became_hot;
    own.cooled = values.hot_stats().cooled;
    ++seen.ended;
  }

  void in_bursts() {
    while (!seen.stop) {
      if (int const number = seen.burst; number != 0) play(number);
      nap();
    }
  }

  // Two calls in a row that get the same object: it is kept.
  void play(int number) {
    std::string const key = "burst" + std::to_string(number);
    burst& its = own.bursts[static_cast<std::size_t>(number)];
    pace steps(steady_ns(), how.rate);
    std::shared_ptr<std::string const> last;
    std::int64_t before = steady_ns();
    while (seen.burst == number && !seen.stop) {
      await(steps);
      auto value = values.get_or_load_shared(key, loaded);
      auto const now = steady_ns();
      ++own.calls;
      if (value == last) note_first(its.kept_ns, now);
      if (its.kept_ns != 0) continue;
      last = std::move(value);
      ++its.asked;
      raise_to(its.longest_ns, now - before);
      before = now;
    }
  }

  void evenly() {
    pace steps(steady_ns(), how.rate);
    while (!seen.stop) {
      await(steps);
      ++own.calls;
      values.get_or_load("even", loaded);
    }
  }

  void crowd() {
    auto const loaded_again = [this] { return std::to_string(seen.acknowledged); };
    values.get_or_load("crowd", loaded_again);
    first_misses = values.stats().misses;
    while (!seen.quiet && !seen.stop) {
      bool const fenced = ++own.calls % 1000 == 0;
      std::int64_t const written = seen.acknowledged;
      if (fenced) values.fence();
      auto const value = values.get_or_load_shared("crowd", loaded_again);
      if (!fenced) continue;
      own.reported = values.fleet_stats().reported;
      own.near_hits = values.stats().near_hits;
      ++own.behind_fence;
      own.stale += std::stoll(*value) < written;
    }
    auto const since = steady_ns();
    while (!seen.stop) {
      if (values.stats().near_entries == 0) note_first(own.let_go_ns, steady_ns() - since);
      std::this_thread::sleep_for(milliseconds(10));
    }
  }
};

}  // namespace

void work(terms const& how, board& seen, std::size_t number, std::string const& url) {
  cache<std::string> const values(
      open_here(url), {.prefix = no_prefix,
                       .ttl = how.ttl,
                       .ttl_jitter = 0,
                       .hot = {.keys = hot_keys_options{.threshold = 1000, .window = how.window}}});
  worker{how, seen, seen.processes[number], values}.run();
}

}  // namespace herdlock::lab::hot_soak
