// hot_soak, in a process of the fleet.
#include <poll.h>

#include <algorithm>
#include <ctime>
#include <herdlock/herdlock.hpp>
#include <random>
#include <string>

#include "hot_soak.hpp"

namespace herdlock_test {
namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using texts = cache<std::string>;

std::string loaded() { return "0"; }

/// Calls at even times, whatever each of them takes.
class pace {
 public:
  explicit pace(double per_second) : gap_us_(1e6 / per_second), next_us_(double(now_us())) {}

  void wait() {
    next_us_ = std::max(next_us_ + gap_us_, double(now_us()) - 1e5);
    auto const left = static_cast<long>(next_us_ - double(now_us()));
    if (left <= 0) return;
    timespec const span{left / 1'000'000, left % 1'000'000 * 1000};
    ::ppoll(nullptr, 0, &span, nullptr);
  }

 private:
  double gap_us_, next_us_;
};

class worker {
 public:
  explicit worker(soak_options const& options)
      : options_(options),
        shared_(shared_figures<figures>(options.shared)),
        own_(shared_.workers.at(static_cast<std::size_t>(shared_.joined++))),
        cache_(open_store(options.url), options_of(options)) {}
  ~worker() {
    auto const stats = cache_.stats();
    own_.near_hits = stats.near_hits;
    own_.misses = stats.misses - first_misses_;
    own_.became_hot = cache_.hot_stats().became_hot;
    own_.cooled = cache_.hot_stats().cooled;
    ++shared_.ended;
  }

  void in_bursts() {
    int last = 0;
    while (!shared_.stop) {
      int const burst = shared_.burst;
      if (burst != 0 && burst != last) {
        last = burst;
        play(burst);
      } else {
        ::poll(nullptr, 0, 1);
      }
    }
  }

  void evenly() {
    pace steps(options_.rate);
    while (!shared_.stop) {
      steps.wait();
      ++own_.calls;
      cache_.get_or_load("even", loaded);
    }
  }

  void crowd() {
    auto const loaded_again = [this] { return std::to_string(shared_.acknowledged); };
    cache_.get_or_load("crowd", loaded_again);
    first_misses_ = cache_.stats().misses;
    while (!shared_.quiet && !shared_.stop) {
      bool const fenced = ++own_.calls % 1000 == 0;
      std::uint64_t const written = shared_.acknowledged;
      if (fenced) cache_.fence();
      auto const value = cache_.get_or_load_shared("crowd", loaded_again);
      if (!fenced) continue;
      own_.reported = cache_.fleet_stats().reported;
      own_.near_hits = cache_.stats().near_hits;
      ++own_.behind_fence;
      own_.stale += std::stoull(*value) < written;
    }
    own_.misses = cache_.stats().misses - first_misses_;
    auto const since = now_us();
    while (!shared_.stop) {
      if (own_.let_go_us == 0 && cache_.stats().near_entries == 0)
        own_.let_go_us = now_us() - since;
      ::poll(nullptr, 0, 10);
    }
  }

 private:
  // Two calls in a row that get the same object: it is kept.
  void play(int burst) {
    std::string const key = "burst" + std::to_string(burst);
    auto& seen = own_.bursts.at(static_cast<std::size_t>(burst));
    pace steps(options_.rate);
    std::shared_ptr<std::string const> last;
    std::int64_t before = now_us();
    while (shared_.burst == burst && !shared_.stop) {
      steps.wait();
      auto const from = now_us();
      auto value = cache_.get_or_load_shared(key, loaded);
      auto const to = now_us();
      ++own_.calls;
      if (seen.kept_us != 0) continue;
      if (value == last) {
        seen.kept_us = to;
        continue;
      }
      last = std::move(value);
      ++seen.asked;
      seen.slowest_us = std::max(seen.slowest_us.load(), to - from);
      seen.longest_us = std::max(seen.longest_us.load(), to - before);
      before = to;
    }
  }

  soak_options const options_;
  figures& shared_;
  worker_figures& own_;
  texts cache_;
  std::uint64_t first_misses_ = 0;
};

}  // namespace

cache_options options_of(soak_options const& options) {
  cache_options how{.prefix = no_prefix, .ttl = options.ttl, .ttl_jitter = 0};
  how.hot_keys = hot_keys_options{.threshold = 1000, .window = options.window};
  return how;
}

void work_in_bursts(soak_options const& options) { worker(options).in_bursts(); }
void work_at_an_even_rate(soak_options const& options) { worker(options).evenly(); }
void work_in_a_crowd(soak_options const& options) { worker(options).crowd(); }

}  // namespace herdlock_test
