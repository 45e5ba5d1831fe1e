// Hot keys: how many of the true top are found, whether true counts are within their bounds, what
// an access costs, and what a flood of keys that come once does to it.
#include <fmt/format.h>
#include <malloc.h>

#include <herdlock/hot_keys.hpp>
#include <numeric>

#include "harness.hpp"
#include "space_saving.hpp"
#include "stage/zipf.hpp"

namespace {

using namespace bench;
using namespace herdlock;
using namespace std::chrono_literals;

using texts = std::vector<std::string>;
constexpr std::size_t key_bytes = 22;
constexpr std::size_t different = 1'000'000;
constexpr std::size_t top_keys = 100;
constexpr std::size_t peers_counters = 1024;
constexpr milliseconds window = 10s;

clock::time_point at(clock::duration since) { return clock::time_point(since); }

/// What part of the top is as it is to be.
template <class Keys, class Wanted, class Text = std::identity>
double share_of(Keys const& top, Wanted wanted, Text text = {}) {
  return static_cast<double>(std::ranges::count_if(top, wanted, text)) / top_keys;
}

/// By rank, in an order that has nothing to do with how often they are used.
texts keys_by_rank() {
  texts keys;
  for (std::size_t i = 0; i < different; ++i) keys.push_back(fmt::format("product:{:014}", i));
  std::ranges::shuffle(keys, std::mt19937(1));
  return keys;
}

/// Accesses by rank, after Zipf.
struct trace {
  trace(double skew, std::size_t accesses)
      : name("_" + std::to_string(skew).substr(0, 4)), ranks(accesses) {
    lab::zipf const drawn(different, skew);
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
    std::ranges::nth_element(counts, counts.begin() + (top_keys - 1), std::greater<>());
    in_top_ = counts[top_keys - 1];
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
      : keys_(keys), ranks_(of.ranks), use_(std::move(use)) {}
  void play(std::size_t accesses) {
    for (std::size_t i = 0; i < accesses; ++i) use_(next());
  }
  // With the keys at hand, as a request has its key: to fetch them from a table of a million is not
  // what is measured.
  double accesses_per_second(std::size_t accesses) {
    std::string at_hand;
    for (std::size_t i = 0; i < accesses; ++i) at_hand += next();
    std::string_view const all = at_hand;
    auto use_one = [&, at = std::size_t{0}]() mutable {
      use_(all.substr(std::exchange(at, at + key_bytes), key_bytes));
    };
    return 1e9 / nanoseconds_each(accesses, use_one);
  }

 private:
  std::string_view next() { return keys_[ranks_[at_++ % ranks_.size()]]; }

  texts const& keys_;
  std::vector<unsigned> const& ranks_;
  Use use_;
  std::size_t at_ = 0;
};

// Half a window's accesses are half the trace, so that two halves one after the other always have
// the counts of the whole trace.
void measure_precision(report& to, texts const& keys, trace const& of) {
  truth const counts(keys, of);
  auto const in_top = [&counts](std::string_view key) { return counts.in_top(key); };
  hot_keys const found({.window = window});
  player ours(keys, of, [&](std::string_view key) { found.read(key); });
  double worst = 1;
  std::size_t outside = 0, looked_at = 0;
  found.tick(at(0s));
  for (int half = 1; half <= 4; ++half) {
    ours.play(of.ranks.size() / 2);
    found.tick(at(half * window / 2 - 1ms));
    if (half >= 2) {
      worst = std::min(worst, share_of(found.top(top_keys), in_top, &hot_key::key));
      for (hot_key const& one : found.top(1024)) {
        std::uint64_t const had = counts.of(one.key);
        outside += had < one.reads.low || had > one.reads.high;
        ++looked_at;
      }
    }
    found.tick(at(half * window / 2));
  }
  space_saving peer(peers_counters);
  player(keys, of, [&](std::string_view key) { peer.used(key); }).play(of.ranks.size());
  to.add("hot.precision" + of.name, worst, "of 1", 1, at_least(0.99));
  to.add("hot.precision_beside" + of.name, worst, "of 1", share_of(peer.top(top_keys), in_top));
  to.add("hot.outside_bounds" + of.name, static_cast<double>(outside),
         "of " + std::to_string(looked_at), 0, at_most(0));
}

void measure_rate(report& to, texts const& keys, trace const& of) {
  constexpr std::size_t slice = 200'000;
  hot_keys const found({.window = window});
  space_saving peer(peers_counters);
  player ours(keys, of, [&](std::string_view key) { found.read(key); });
  player other(keys, of, [&](std::string_view key) { peer.used(key); });
  ours.play(of.ranks.size());
  other.play(of.ranks.size());
  std::vector<double> rates;
  auto const rate = [&, time = clock::duration(0)]() mutable {
    found.tick(at(time += 100ms));
    return rates.emplace_back(ours.accesses_per_second(slice));
  };
  to.compare(
      "hot.accesses_beside" + of.name, "accesses/s", rate,
      [&] { return other.accesses_per_second(slice); }, at_least(1));
  if (rates.empty()) return;
  to.add("hot.accesses" + of.name, lab::percentile(rates, 0.5), "accesses/s", 20e6, at_least(1));
}

// One key alone: what an access costs on top of what the program does.
void measure_counted(report& to) {
  hot_keys const found;
  std::string const key = "product:00000000000042";
  found.read(key);
  std::vector<double> took;
  for (int round = 0; round < 50; ++round) {
    took.push_back(nanoseconds_each(200'000, [&] { found.read(key); }));
  }
  to.add("hot.counted_access", lab::percentile(took, 0.5), "ns", 30, at_most(1));
}

double bytes_in_use() {
  auto const info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

// A million keys a second that come once, beside a hundred that are read 500 times a second each.
void measure_flood(report& to) {
  constexpr std::size_t once_per_second = 1'000'000;
  constexpr std::size_t often_per_second = 500;
  std::size_t const seconds = to.quick() ? 5 : 30;
  hot_keys const found({.threshold = 400, .window = window});
  std::vector<std::string> often;
  for (std::size_t i = 0; i < top_keys; ++i) often.push_back("often:" + std::to_string(i));
  std::string once = "once:00000000000000000";
  std::size_t number = 0;
  double first = 0, least = 1;
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
    auto const is_often = [](std::string_view key) { return key.starts_with("often:"); };
    least = std::min(least, share_of(found.top(top_keys), is_often, &hot_key::key));
  }
  to.add("hot.flood_recall", least, "of 1", 1, at_least(0.98));
  to.add("hot.flood_bytes", bytes_in_use(), "bytes", first, at_most(1.02));
}

void measure(report& to) {
  if (to.wants("hot.counted")) measure_counted(to);
  if (to.wants("hot.flood")) measure_flood(to);
  bool const memory = to.wants("hot.shard");
  bool const precision = to.wants("hot.precision") || to.wants("hot.outside");
  bool const rate = to.wants("hot.accesses");
  if (!memory && !precision && !rate) return;
  texts const keys = keys_by_rank();
  if (memory) {
    hot_keys const found;
    double const before = bytes_in_use();
    for (std::size_t i = 0; i < 1000; ++i) found.read(keys[i]);
    to.add("hot.shard_bytes", bytes_in_use() - before, "bytes", 100'000, at_most(1));
  }
  for (double const skew : {0.8, 0.99, 1.2}) {
    trace const one(skew, to.quick() ? 1'000'000 : 10'000'000);
    if (precision) measure_precision(to, keys, one);
    if (rate) measure_rate(to, keys, one);
  }
}

suite const hot_suite("hot", &measure);

}  // namespace
