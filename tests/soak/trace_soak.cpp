// Which sources find the keys that are used most? One Redis full of keys, processes that read them
// after Zipf, and the exact counts of the same time as the judge.
//
//   trace_soak [--keys N] [--processes N] [--callers N] [--time MS] [--exponent X] [--source NAME]
//              [--times 0|1]
//
//   clients  `herdlock hot`, of what the processes report to each other: fifteen of the true first
//            sixteen, and all of the first eight
//   lfu      `herdlock hot --source lfu`: fourteen of sixteen, in a quarter of the time that
//            `redis-cli --hotkeys` takes: the median of three pairs, one after the other
//   monitor  `herdlock hot --source monitor` for two seconds: what it finds, and how many reads
//            there are meanwhile
//
// Ends with 1 when that is not so. Times are judged with --times 1: a machine may have other work.
// The caches keep nothing near, since the server counts only what reaches it; --time is how long
// the keys are read before anybody is asked.
#include <poll.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <herdlock/herdlock.hpp>
#include <mutex>
#include <random>
#include <regex>
#include <stdexcept>
#include <string>
#include <support/child_process.hpp>
#include <support/redis_server.hpp>
#include <support/temp_dir.hpp>
#include <vector>

#include "named_options.hpp"
#include "verdict.hpp"

namespace {

using namespace std::chrono_literals;
using namespace herdlock;
using namespace herdlock_test;
using words = std::vector<std::string>;
using texts = cache<std::string>;

constexpr std::size_t most_keys = 1'000'000;
constexpr std::size_t seconds_kept = 16;
constexpr std::size_t first_of_all = 16;
constexpr std::size_t pairs = 3;
constexpr std::string_view prefix = "product:";
constexpr std::size_t digits = 14;

/// In a file that all map: how often each key was read in each of the last seconds.
struct figures {
  std::array<std::array<std::atomic<std::uint32_t>, most_keys>, seconds_kept> counts;
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::size_t> second{0};  // the one that goes on
  std::atomic<int> joined{0};
  std::atomic<bool> stop{false};
};

struct soak_options {
  std::size_t keys = most_keys;
  int processes = 2;
  int callers = 32;  // of each process
  milliseconds time{20'000};
  double exponent = 0.99;
  std::string source = "all";
  int times = 0;
  std::string url, shared;  // of a worker
};

std::string number_of(std::size_t rank) {
  std::string const plain = std::to_string(rank);
  return std::string(digits - plain.size(), '0') + plain;
}

// ------------------------------------------------------------------------- a process of the fleet

class reader {
 public:
  reader(soak_options const& options, std::uint64_t seed)
      : options_(options),
        seen_(shared_figures<figures>(options.shared)),
        random_(seed),
        up_to_(options.keys),
        cache_(open_store(options.url), {.prefix = std::string(prefix),
                                         .ttl = 1h,
                                         .near = near_cache::off,
                                         .hot_keys = hot_keys_options{},
                                         .fleet_threshold = 1000}) {
    double sum = 0;
    for (std::size_t rank = 0; rank < options.keys; ++rank) {
      sum += std::pow(double(rank + 1), -options.exponent);
      up_to_[rank] = sum;
    }
  }

  void read_until_stopped() {
    {
      std::lock_guard const lock(mutex_);
      under_way_ = options_.callers;
    }
    for (int i = 0; i < options_.callers; ++i) next();
    ++seen_.joined;
    std::unique_lock lock(mutex_);
    all_ended_.wait(lock, [this] { return under_way_ == 0; });
  }

 private:
  void next() {
    if (seen_.stop) return end();
    std::size_t const rank = draw();
    ++seen_.counts[seen_.second][rank];
    ++seen_.reads;
    cache_.async_get(number_of(rank),
                     [this](failure const&, cached<std::string> const&) { next(); });
  }

  std::size_t draw() {
    std::lock_guard const lock(mutex_);
    double const at = std::uniform_real_distribution<>(0, up_to_.back())(random_);
    auto const found = std::upper_bound(up_to_.begin(), up_to_.end(), at);
    return std::min(static_cast<std::size_t>(found - up_to_.begin()), up_to_.size() - 1);
  }

  void end() {
    std::lock_guard const lock(mutex_);
    --under_way_;
    all_ended_.notify_all();
  }

  soak_options const options_;
  figures& seen_;
  std::mutex mutex_;
  std::condition_variable all_ended_;
  int under_way_ = 0;
  std::mt19937_64 random_;
  std::vector<double> up_to_;
  texts cache_;
};

// -------------------------------------------------------------------------------------- the judge

double seconds_since(clock::time_point began) {
  return std::chrono::duration<double>(clock::now() - began).count();
}

struct finding {
  std::vector<std::size_t> ranks;  // the hottest first
  double took_s = 0;
};

class soak {
 public:
  soak(soak_options options, words argv) : options_(std::move(options)) {
    options_.url = server_.url();
    options_.shared = folder_.path() / "figures";
    seen_ = &shared_figures<figures>(options_.shared);
    fill();
    for (auto const& one :
         {std::string("--url"), options_.url, std::string("--shared"), options_.shared}) {
      argv.push_back(one);
    }
    for (int i = 0; i < options_.processes; ++i) {
      processes_.emplace_back(child_options{.argv = argv});
    }
  }

  bool play() {
    while (seen_->joined != options_.processes) pass(100ms);
    auto const read_before = seen_->reads.load();
    auto const began = clock::now();
    pass(options_.time);
    reads_a_second_ = double(seen_->reads - read_before) / seconds_since(began);
    std::printf("%zu keys after Zipf %g, %d processes: %.0f reads/s\n", options_.keys,
                options_.exponent, options_.processes, reads_a_second_);
    if (wants("clients")) clients();
    if (wants("lfu")) lfu();
    if (wants("monitor")) monitor();
    seen_->stop = true;
    for (auto& one : processes_) one.wait();
    return how_.good;
  }

 private:
  bool wants(char const* source) const {
    return options_.source == "all" || options_.source == source;
  }

  void fill() {
    constexpr std::size_t at_once = 50'000;
    std::string const script = "for n = ARGV[1], ARGV[2] do redis.call('set', string.format('" +
                               std::string(prefix) + "%014d', n), string.rep('x', 16)) end";
    for (std::size_t from = 0; from < options_.keys; from += at_once) {
      auto const to = std::min(from + at_once, options_.keys) - 1;
      auto const said =
          server_.command({"EVAL", script, "0", std::to_string(from), std::to_string(to)});
      if (said != "(nil)") throw std::runtime_error("filling: " + said);
    }
  }

  // Meanwhile seconds go by for the counts.
  void pass(milliseconds time) {
    auto const until = clock::now() + time;
    do {
      turn();
      ::poll(nullptr, 0, 10);
      for (auto& one : processes_) {
        if (!one.running()) throw std::runtime_error("a worker has ended: " + one.errors());
      }
    } while (clock::now() < until);
  }

  void turn() {
    if (clock::now() < next_second_) return;
    next_second_ = clock::now() + 1s;
    std::size_t const next = (seen_->second + 1) % seconds_kept;
    for (auto& count : seen_->counts[next]) count.store(0, std::memory_order_relaxed);
    seen_->second = next;
  }

  /// As of the last ten seconds.
  std::vector<std::size_t> truth() const {
    constexpr std::size_t window = 10;
    std::vector<std::uint64_t> sums(options_.keys);
    for (std::size_t back = 0; back < window; ++back) {
      auto const& counts = seen_->counts[(seen_->second + seconds_kept - back) % seconds_kept];
      for (std::size_t rank = 0; rank < options_.keys; ++rank) sums[rank] += counts[rank];
    }
    std::vector<std::size_t> ranks(options_.keys);
    for (std::size_t rank = 0; rank < options_.keys; ++rank) ranks[rank] = rank;
    auto const last = ranks.begin() + first_of_all;
    std::partial_sort(ranks.begin(), last, ranks.end(),
                      [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    return {ranks.begin(), last};
  }

  finding run(words argv) {
    child_process asked({.argv = std::move(argv)});
    auto const began = clock::now();
    while (asked.running()) {
      turn();
      ::poll(nullptr, 0, 1);
    }
    finding made{.ranks = {}, .took_s = seconds_since(began)};
    auto const status = asked.wait();
    if (!status || status->code != 0) throw std::runtime_error(asked.output() + asked.errors());
    std::string const text = asked.output();
    std::regex const key("key(?:name)?\"?: *\"" + std::string(prefix) + "([0-9]+)\"");
    for (std::sregex_iterator at(text.begin(), text.end(), key), end; at != end; ++at) {
      made.ranks.push_back(std::stoul((*at)[1]));
    }
    std::fputs(asked.errors().c_str(), stdout);
    return made;
  }
  finding hot(words const& more) {
    words argv{HERDLOCK_COMMAND, "hot", "--store", options_.url, "--top", "16", "--json"};
    argv.insert(argv.end(), more.begin(), more.end());
    return run(std::move(argv));
  }

  static std::size_t found_of(finding const& made, std::vector<std::size_t> const& true_ones,
                              std::size_t first) {
    return static_cast<std::size_t>(
        std::count_if(true_ones.begin(), true_ones.begin() + std::ptrdiff_t(first), [&](auto rank) {
          return std::find(made.ranks.begin(), made.ranks.end(), rank) != made.ranks.end();
        }));
  }

  void tell(char const* who, finding const& made, std::vector<std::size_t> const& true_ones) const {
    std::printf("%-22s %zu of the first 16, %zu of the first 8, in %.2f s\n", who,
                found_of(made, true_ones, 16), found_of(made, true_ones, 8), made.took_s);
  }

  void clients() {
    auto made = hot({"--source", "clients"});
    // Reports live for some seconds: a machine may have stood still for longer.
    if (made.ranks.size() < first_of_all) {
      pass(2s);
      made = hot({"--source", "clients"});
    }
    auto const true_ones = truth();
    tell("clients", made, true_ones);
    how_.demand(found_of(made, true_ones, 16) >= 15, "clients find fifteen of the first sixteen");
    how_.demand(found_of(made, true_ones, 8) == 8, "clients find all of the first eight");
    if (options_.times != 0) how_.demand(made.took_s <= 0.1, "clients answer within 100 ms");
  }

  void lfu() {
    auto const made = survey_by_lfu();
    auto const true_ones = truth();
    tell("lfu", made, true_ones);
    how_.demand(found_of(made, true_ones, 16) >= 14, "lfu finds fourteen of the first sixteen");
    if (options_.times == 0) return;
    std::array<double, pairs> shares;
    for (auto& share : shares) {
      auto const beside = run({"redis-cli", "-p", std::to_string(server_.port()), "--hotkeys"});
      tell("redis-cli --hotkeys", beside, truth());
      auto const again = survey_by_lfu();
      tell("lfu", again, truth());
      share = again.took_s / beside.took_s;
    }
    std::sort(shares.begin(), shares.end());
    std::printf("%-22s %.2f of that time, %.2f to %.2f\n", "lfu", shares[pairs / 2], shares.front(),
                shares.back());
    how_.demand(shares[pairs / 2] <= 0.25, "lfu takes a quarter of that time");
  }
  finding survey_by_lfu() { return hot({"--source", "lfu", "--max-rate", "10000000"}); }

  void monitor() {
    auto const before = seen_->reads.load();
    auto const made = hot({"--source", "monitor", "--for", "2s", "--yes"});
    auto const reads_a_second = double(seen_->reads - before) / made.took_s;
    tell("monitor", made, truth());
    std::printf("%-22s %.0f reads/s meanwhile, %.2f of those before\n", "", reads_a_second,
                reads_a_second / reads_a_second_);
  }

  soak_options options_;
  redis_server server_{{.arguments = {"--maxmemory-policy", "allkeys-lfu", "--maxmemory", "4gb"}}};
  temp_dir folder_;
  figures* seen_ = nullptr;
  std::vector<child_process> processes_;
  clock::time_point next_second_{};
  double reads_a_second_ = 0;
  verdict how_;
};

soak_options parsed(words const& arguments) {
  soak_options options;
  read_options(arguments, {{"--keys", put_number(options.keys)},
                           {"--processes", put_number(options.processes)},
                           {"--callers", put_number(options.callers)},
                           {"--time", put_ms(options.time)},
                           {"--exponent", put_number(options.exponent)},
                           {"--source", put_text(options.source)},
                           {"--times", put_number(options.times)},
                           {"--url", put_text(options.url)},
                           {"--shared", put_text(options.shared)}});
  bool const is_size = options.keys >= first_of_all && options.keys <= most_keys &&
                       options.processes >= 1 && options.callers >= 1;
  if (!is_size || arguments.size() % 2 != 0) throw std::runtime_error("see the top of the source");
  return options;
}

}  // namespace

int main(int argc, char** argv) try {
  words const all(argv, argv + argc);
  auto const options = parsed(words(all.begin() + 1, all.end()));
  if (options.url.empty()) return soak(options, all).play() ? 0 : 1;
  reader(options, std::random_device()()).read_until_stopped();
} catch (std::exception const& e) {
  std::fprintf(stderr, "trace_soak: %s\n", e.what());
  return 1;
}
