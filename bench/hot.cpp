// Hot keys: how many of the true top are found, whether true counts are within their bounds, what
// an access costs, and what a flood of keys that come once does to it.
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/hot_keys.hpp>

#include "harness.hpp"
#include "space_saving.hpp"

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
std::vector<unsigned> zipf(double skew, std::size_t accesses) {
  std::vector<double> share(different);
  double sum = 0;
  for (std::size_t i = 0; i < different; ++i) share[i] = sum += std::pow(double(i + 1), -skew);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0, sum);
  std::vector<unsigned> trace(accesses);
  for (unsigned& one : trace) {
    auto const found = std::lower_bound(share.begin(), share.end(), uniform(random));
    one = static_cast<unsigned>(std::min<std::ptrdiff_t>(found - share.begin(), different - 1));
  }
  return trace;
}

/// The true counts of a trace.
class truth {
 public:
  truth(texts const& keys, std::vector<unsigned> const& trace) : counts_(different) {
    for (unsigned const rank : trace) ++counts_[rank];
    std::vector<unsigned> sorted(counts_);
    auto const last = sorted.begin() + (top_keys - 1);
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
    in_top_ = *last;
    for (std::size_t rank = 0; rank < different; ++rank) by_key_.push_back({keys[rank], rank});
    std::sort(by_key_.begin(), by_key_.end());
  }
  std::uint64_t of(std::string_view key) const {
    auto const found =
        std::lower_bound(by_key_.begin(), by_key_.end(), std::pair(key, std::size_t(0)));
    return counts_[found->second];
  }
  /// The share of these that belong to the top; those that are used as often as its last one do.
  template <class Keys>
  double precision(Keys const& found) const {
    std::size_t right = 0;
    for (std::string const& key : found) right += of(key) >= in_top_;
    return double(right) / double(top_keys);
  }

 private:
  std::vector<unsigned> counts_;
  unsigned in_top_ = 0;
  std::vector<std::pair<std::string_view, std::size_t>> by_key_;
};

std::vector<std::string> names_of(std::vector<hot_key> const& found) {
  std::vector<std::string> names;
  for (hot_key const& one : found) names.push_back(one.key);
  return names;
}

std::size_t outside_bounds(std::vector<hot_key> const& found, truth const& counts) {
  return static_cast<std::size_t>(std::count_if(found.begin(), found.end(), [&](auto const& one) {
    std::uint64_t const had = counts.of(one.key);
    return had < one.reads.low || had > one.reads.high;
  }));
}

/// One after the other, around and around.
template <class Use>
class player {
 public:
  player(texts const& keys, std::vector<unsigned> const& trace, Use use)
      : keys_(keys), trace_(trace), use_(std::move(use)) {}
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
void measure_precision(bench::report& report, texts const& keys, double skew,
                       std::vector<unsigned> const& trace) {
  std::string const which = std::to_string(skew).substr(0, 4);
  truth const counts(keys, trace);
  hot_keys const found({.window = window});
  player ours(keys, trace, [&](std::string_view key) { found.read(key); });
  double worst = 1;
  std::size_t outside = 0;
  std::size_t looked_at = 0;
  found.tick(at(0s));
  for (int half = 1; half <= 4; ++half) {
    ours.play(trace.size() / 2);
    found.tick(at(half * window / 2 - 1ms));
    if (half >= 2) {
      auto const all = found.top(1024);
      worst = std::min(worst, counts.precision(names_of(found.top(top_keys))));
      outside += outside_bounds(all, counts);
      looked_at += all.size();
    }
    found.tick(at(half * window / 2));
  }
  bench::space_saving peer(peers_counters);
  player(keys, trace, [&](std::string_view key) { peer.used(key); }).play(trace.size());
  double const beside = counts.precision(peer.top(top_keys));
  report.add({"hot.precision_" + which, worst, "of 1", 1, worst, bench::at_least(0.99)});
  report.add(
      {"hot.precision_beside_" + which, worst, "of 1", beside, worst / beside, bench::no_limit});
  report.add({"hot.outside_bounds_" + which, double(outside), "of " + std::to_string(looked_at), 0,
              double(outside), bench::at_most(0)});
}

void measure_rate(bench::report& report, texts const& keys, double skew,
                  std::vector<unsigned> const& trace) {
  std::string const which = std::to_string(skew).substr(0, 4);
  constexpr std::size_t slice = 200'000;
  hot_keys const found({.window = window});
  bench::space_saving peer(peers_counters);
  player ours(keys, trace, [&](std::string_view key) { found.read(key); });
  player other(keys, trace, [&](std::string_view key) { peer.used(key); });
  ours.play(trace.size());
  other.play(trace.size());
  std::vector<double> rates;
  clock::duration time{0};
  report.compare({.name = "hot.accesses_beside_" + which,
                  .unit = "accesses/s",
                  .subject =
                      [&] {
                        found.tick(at(time += 100ms));
                        rates.push_back(ours.accesses_per_second(slice));
                        return rates.back();
                      },
                  .baseline = [&] { return other.accesses_per_second(slice); },
                  .limit = bench::at_least(1),
                  .rounds = 200});
  if (rates.empty()) return;
  std::nth_element(rates.begin(), rates.begin() + std::ptrdiff_t(rates.size() / 2), rates.end());
  double const median = rates[rates.size() / 2];
  report.add(
      {"hot.accesses_" + which, median, "accesses/s", 20e6, median / 20e6, bench::at_least(1)});
}

// One key alone: what an access costs on top of what the program does.
void measure_counted(bench::report& report) {
  constexpr int accesses = 200'000;
  constexpr double goal = 30;
  hot_keys const found;
  std::string const key = "product:00000000000042";
  found.read(key);
  std::vector<double> took;
  for (int round = 0; round < 50; ++round) {
    took.push_back(bench::nanoseconds_of([&] {
                     for (int i = 0; i < accesses; ++i) found.read(key);
                   }) /
                   accesses);
  }
  std::nth_element(took.begin(), took.begin() + 25, took.end());
  report.add({"hot.counted_access", took[25], "ns", goal, took[25] / goal, bench::at_most(1)});
}

double bytes_in_use() {
  auto const info = ::mallinfo2();
  return double(info.uordblks + info.hblkhd);
}

void measure_memory(bench::report& report, texts const& keys) {
  constexpr double goal = 100'000;
  hot_keys const found;
  double const before = bytes_in_use();
  for (std::size_t i = 0; i < 1000; ++i) found.read(keys[i]);
  double const took = bytes_in_use() - before;
  report.add({"hot.shard_bytes", took, "bytes", goal, took / goal, bench::at_most(1)});
}

// A million keys a second that come once, beside a hundred that are read 500 times a second each.
void measure_flood(bench::report& report) {
  constexpr std::size_t once_per_second = 1'000'000;
  constexpr std::size_t often_per_second = 500;
  std::size_t const seconds = report.how() == bench::effort::quick ? 5 : 30;
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
      for (std::size_t n = ++number, digit = once.size(); n > 0; n /= 10) {
        once[--digit] = static_cast<char>('0' + n % 10);
      }
      found.read(once);
      constexpr std::size_t each = once_per_second / (often_per_second * top_keys);
      if (i % each == 0) found.read(often[i / each % top_keys]);
      if (i % 100'000 == 99'999) found.tick(at(time += 100ms));
    }
    if (second == seconds / 2) first = bytes_in_use();
    auto const top = names_of(found.top(top_keys));
    std::set<std::string> const there(top.begin(), top.end());
    double right = 0;
    for (auto const& key : often) right += double(there.count(key));
    least = std::min(least, right / double(top_keys));
  }
  report.add({"hot.flood_recall", least, "of 1", 1, least, bench::at_least(0.98)});
  double const last = bytes_in_use();
  report.add({"hot.flood_bytes", last, "bytes", first, last / first, bench::at_most(1.02)});
}

void measure(bench::report& report) {
  if (report.wants("hot.counted")) measure_counted(report);
  if (report.wants("hot.flood")) measure_flood(report);
  if (!report.wants("hot.shard") && !report.wants("hot.precision") &&
      !report.wants("hot.outside") && !report.wants("hot.accesses"))
    return;
  texts const keys(different);
  if (report.wants("hot.shard")) measure_memory(report, keys);
  for (double const skew : {0.8, 0.99, 1.2}) {
    std::size_t const accesses = report.how() == bench::effort::quick ? 1'000'000 : 10'000'000;
    auto const trace = zipf(skew, accesses);
    if (report.wants("hot.precision") || report.wants("hot.outside"))
      measure_precision(report, keys, skew, trace);
    if (report.wants("hot.accesses")) measure_rate(report, keys, skew, trace);
  }
}

bench::suite const hot_suite("hot", &measure);

}  // namespace
