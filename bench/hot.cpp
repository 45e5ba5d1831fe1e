// Hot keys: how many of the true top are found, whether true counts are within their bounds, what
// an access costs, and what a flood of keys that come once does to it.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <herdlock/hot_keys.hpp>

#include "harness.hpp"
#include "space_saving.hpp"
#include "stage/zipf.hpp"

namespace {

using namespace herdlock;
using namespace std::chrono_literals;

constexpr std::size_t key_bytes = 22;
constexpr std::size_t different = 1'000'000;
constexpr std::size_t top_keys = 100;
constexpr std::size_t peers_counters = 1024;
constexpr milliseconds window = 10s;

clock::time_point at(clock::duration since) { return clock::time_point(since); }

/// Texts of 22 bytes, in an order that has nothing to do with how often they are used.
class texts {
 public:
  explicit texts(std::size_t count) : order_(count) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::shuffle(order_.begin(), order_.end(), std::mt19937(1));
    bytes_.resize(count * key_bytes + 1);
    for (std::size_t i = 0; i < count; ++i) {
      std::snprintf(&bytes_[i * key_bytes], key_bytes + 1, "product:%014zu", i);
    }
  }
  std::string_view operator[](std::size_t rank) const {
    return {&bytes_[order_[rank] * key_bytes], key_bytes};
  }

 private:
  std::vector<unsigned> order_;
  std::string bytes_;
};

/// Accesses by rank, after Zipf.
struct trace {
  trace(double skew, std::size_t accesses)
      : name("_" + std::to_string(skew).substr(0, 4)), ranks(accesses) {
    bench::lab::zipf const drawn(different, skew);
    std::mt19937_64 random(2);
    for (unsigned& one : ranks) one = static_cast<unsigned>(drawn.draw(random));
  }
  std::string name;
  std::vector<unsigned> ranks;
};

/// The true counts of a trace.
class truth {
 public:
  truth(texts const& keys, trace const& of) {
    std::vector<unsigned> counts(different);
    for (unsigned const rank : of.ranks) ++counts[rank];
    for (std::size_t rank = 0; rank < different; ++rank) by_key_[keys[rank]] = counts[rank];
    auto const last = counts.begin() + (top_keys - 1);
    std::nth_element(counts.begin(), last, counts.end(), std::greater<>());
    in_top_ = *last;
  }
  std::uint64_t of(std::string_view key) const { return by_key_.at(key); }
  /// It is of the top: those that are used as often as its last one are, too.
  bool in_top(std::string_view key) const { return of(key) >= in_top_; }

 private:
  unsigned in_top_ = 0;
  std::unordered_map<std::string_view, unsigned> by_key_;
};

/// One after the other, around and around.
template <class Use>
class player {
 public:
  player(texts const& keys, trace const& of, Use use)
      : keys_(keys), trace_(of.ranks), use_(std::move(use)) {}
  void play(std::size_t accesses) {
    for (std::size_t i = 0; i < accesses; ++i) use_(keys_[next()]);
  }
  // With the keys at hand, as a request has its key: to fetch them from a table of a million is not
  // what is measured.
  double accesses_per_second(std::size_t accesses) {
    at_hand_.clear();
    for (std::size_t i = 0; i < accesses; ++i) at_hand_ += keys_[next()];
    std::string_view const all = at_hand_;
    return double(accesses) * 1e9 / bench::nanoseconds_of([&] {
             for (std::size_t i = 0; i < accesses; ++i) use_(all.substr(i * key_bytes, key_bytes));
           });
  }

 private:
  unsigned next() {
    if (at_ == trace_.size()) at_ = 0;
    return trace_[at_++];
  }

  texts const& keys_;
  std::vector<unsigned> const& trace_;
  Use use_;
  std::size_t at_ = 0;
  std::string at_hand_;
};

// Half a window's accesses are half the trace, so that two halves one after the other always have
// the counts of the whole trace.
void measure_precision(bench::report& report, texts const& keys, trace const& of) {
  truth const counts(keys, of);
  auto const in_top = [&counts](std::string_view key) { return counts.in_top(key); };
  hot_keys const found({.window = window});
  player ours(keys, of, [&](std::string_view key) { found.read(key); });
  double worst = 1;
  std::size_t outside = 0;
  std::size_t looked_at = 0;
  found.tick(at(0s));
  for (int half = 1; half <= 4; ++half) {
    ours.play(of.ranks.size() / 2);
    found.tick(at(half * window / 2 - 1ms));
    if (half >= 2) {
      auto const right = std::ranges::count_if(found.top(top_keys), in_top, &hot_key::key);
      worst = std::min(worst, double(right) / double(top_keys));
      for (hot_key const& one : found.top(1024)) {
        std::uint64_t const had = counts.of(one.key);
        outside += had < one.reads.low || had > one.reads.high;
        ++looked_at;
      }
    }
    found.tick(at(half * window / 2));
  }
  bench::space_saving peer(peers_counters);
  player(keys, of, [&](std::string_view key) { peer.used(key); }).play(of.ranks.size());
  auto const beside = double(std::ranges::count_if(peer.top(top_keys), in_top)) / double(top_keys);
  report.add("hot.precision" + of.name, worst, "of 1", 1, bench::at_least(0.99));
  report.add("hot.precision_beside" + of.name, worst, "of 1", beside);
  report.add("hot.outside_bounds" + of.name, double(outside), "of " + std::to_string(looked_at), 0,
             bench::at_most(0));
}

void measure_rate(bench::report& report, texts const& keys, trace const& of) {
  constexpr std::size_t slice = 200'000;
  hot_keys const found({.window = window});
  bench::space_saving peer(peers_counters);
  player ours(keys, of, [&](std::string_view key) { found.read(key); });
  player other(keys, of, [&](std::string_view key) { peer.used(key); });
  ours.play(of.ranks.size());
  other.play(of.ranks.size());
  std::vector<double> rates;
  clock::duration time{0};
  auto const rate = [&] {
    found.tick(at(time += 100ms));
    return rates.emplace_back(ours.accesses_per_second(slice));
  };
  report.compare(
      "hot.accesses_beside" + of.name, "accesses/s", rate,
      [&] { return other.accesses_per_second(slice); }, bench::at_least(1));
  if (rates.empty()) return;
  report.add("hot.accesses" + of.name, bench::lab::percentile(rates, 0.5), "accesses/s", 20e6,
             bench::at_least(1));
}

// One key alone: what an access costs on top of what the program does.
void measure_counted(bench::report& report) {
  hot_keys const found;
  std::string const key = "product:00000000000042";
  found.read(key);
  std::vector<double> took;
  for (int round = 0; round < 50; ++round) {
    took.push_back(bench::nanoseconds_each(200'000, [&] { found.read(key); }));
  }
  report.add("hot.counted_access", bench::lab::percentile(took, 0.5), "ns", 30, bench::at_most(1));
}

double bytes_in_use() {
  auto const info = ::mallinfo2();
  return double(info.uordblks + info.hblkhd);
}

// A million keys a second that come once, beside a hundred that are read 500 times a second each.
void measure_flood(bench::report& report) {
  constexpr std::size_t once_per_second = 1'000'000;
  constexpr std::size_t often_per_second = 500;
  std::size_t const seconds = report.quick() ? 5 : 30;
  hot_keys const found({.threshold = 400, .window = window});
  std::vector<std::string> often;
  for (std::size_t i = 0; i < top_keys; ++i) often.push_back("often:" + std::to_string(i));
  std::string once = "once:00000000000000000";
  std::size_t number = 0;
  double first = 0;
  double least = 1;
  clock::duration time{0};
  found.tick(at(time));
  for (std::size_t second = 1; second <= seconds; ++second) {
    for (std::size_t i = 0; i < once_per_second; ++i) {
      fmt::format_to(once.begin() + 5, "{:017}", ++number);
      found.read(once);
      constexpr std::size_t each = once_per_second / (often_per_second * top_keys);
      if (i % each == 0) found.read(often[i / each % top_keys]);
      if (i % 100'000 == 99'999) found.tick(at(time += 100ms));
    }
    if (second == seconds / 2) first = bytes_in_use();
    auto const right = std::ranges::count_if(
        found.top(top_keys), [](hot_key const& one) { return one.key.starts_with("often:"); });
    least = std::min(least, double(right) / double(top_keys));
  }
  report.add("hot.flood_recall", least, "of 1", 1, bench::at_least(0.98));
  report.add("hot.flood_bytes", bytes_in_use(), "bytes", first, bench::at_most(1.02));
}

void measure(bench::report& report) {
  if (report.wants("hot.counted")) measure_counted(report);
  if (report.wants("hot.flood")) measure_flood(report);
  bool const memory = report.wants("hot.shard");
  bool const precision = report.wants("hot.precision") || report.wants("hot.outside");
  bool const rate = report.wants("hot.accesses");
  if (!memory && !precision && !rate) return;
  texts const keys(different);
  if (memory) {
    hot_keys const found;
    double const before = bytes_in_use();
    for (std::size_t i = 0; i < 1000; ++i) found.read(keys[i]);
    report.add("hot.shard_bytes", bytes_in_use() - before, "bytes", 100'000, bench::at_most(1));
  }
  for (double const skew : {0.8, 0.99, 1.2}) {
    trace const one(skew, report.quick() ? 1'000'000 : 10'000'000);
    if (precision) measure_precision(report, keys, one);
    if (rate) measure_rate(report, keys, one);
  }
}

bench::suite const hot_suite("hot", &measure);

}  // namespace
