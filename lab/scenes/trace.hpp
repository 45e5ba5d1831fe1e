// Scene `trace`: the exact counts of what was read, and what is demanded of those who look for the
// keys that are read most.
#pragma once

#include <numeric>
#include <optional>

#include "stage/stage.hpp"

namespace herdlock::lab::trace {

inline constexpr std::size_t first_of_all = 16;
inline constexpr std::string_view key_prefix = "product:";

/// How often each key was read in each of the last seconds. A key is known by its rank, from 0.
class board {
 public:
  struct head {
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::size_t> second{0};  // the one that goes on
    std::atomic<int> joined{0};
    std::atomic<bool> stop{false};
  };

  explicit board(std::size_t keys) : keys_(keys), counts_(seconds_kept * keys) {}

  void note_read(std::size_t rank) {
    ++counts_[now->second * keys_ + rank];
    ++now->reads;
  }
  void begin_second() {
    std::size_t const next = (now->second + 1) % seconds_kept;
    for (std::size_t rank = 0; rank < keys_; ++rank) counts_[next * keys_ + rank] = 0;
    now->second = next;
  }

  /// While this is done.
  template <class Work>
  double reads_a_second(Work const& work) const {
    auto const before = now->reads.load();
    auto const began = steady_ns();
    work();
    return static_cast<double>(now->reads - before) / in_seconds(steady_ns() - began);
  }
  /// The first of all, the hottest first, by the last ten seconds.
  std::vector<std::size_t> truth() const {
    std::vector<std::uint64_t> sums(keys_);
    for (std::size_t back = 0; back < 10; ++back) {
      auto const second = (now->second + seconds_kept - back) % seconds_kept;
      for (std::size_t rank = 0; rank < keys_; ++rank) {
        sums[rank] += counts_[second * keys_ + rank];
      }
    }
    std::vector<std::size_t> ranks(keys_);
    std::iota(ranks.begin(), ranks.end(), std::size_t{0});
    auto const last = ranks.begin() + first_of_all;
    std::partial_sort(ranks.begin(), last, ranks.end(),
                      [&](std::size_t a, std::size_t b) { return sums[a] > sums[b]; });
    return {ranks.begin(), last};
  }

  shared<head> now;

 private:
  static constexpr std::size_t seconds_kept = 16;

  std::size_t const keys_;
  shared_array<std::atomic<std::uint32_t>> counts_;
};

/// What a source came to.
struct finding {
  std::size_t found = 0;
  std::size_t of_16 = 0;  ///< of the true first ones
  std::size_t of_8 = 0;
  double took_s = 0;

  finding() = default;
  finding(std::vector<std::size_t> const& all, std::vector<std::size_t> const& true_ones,
          double seconds)
      : found(all.size()), took_s(seconds) {
    for (std::size_t i = 0; i < true_ones.size(); ++i) {
      bool const is_found = std::find(all.begin(), all.end(), true_ones[i]) != all.end();
      of_16 += is_found;
      of_8 += is_found && i < 8;
    }
  }
};

struct findings {
  // Nothing: it was not asked.
  std::optional<finding> clients, lfu, monitor;
  // The same where times are not judged.
  std::optional<double> clients_took_s{};
  std::optional<double> lfu_share{};  ///< of the time of redis-cli --hotkeys
};

inline void judge_trace(findings const& all, judge& by) {
  if (auto const& of = all.clients) {
    by.demand(of->of_16 >= 15, fmt::format("clients found only {} of the first 16", of->of_16));
    by.demand(of->of_8 == 8, fmt::format("clients found only {} of the first 8", of->of_8));
  }
  if (all.clients_took_s) {
    by.demand(
        *all.clients_took_s <= 0.1,
        fmt::format("clients answered after {:.0f} ms: more than 100", *all.clients_took_s * 1e3));
  }
  if (auto const& of = all.lfu) {
    by.demand(of->of_16 >= 14, fmt::format("lfu found only {} of the first 16", of->of_16));
  }
  if (all.lfu_share) {
    by.demand(*all.lfu_share <= 0.25,
              fmt::format("lfu took {:.2f} of the time of redis-cli --hotkeys: more than 0.25",
                          *all.lfu_share));
  }
}

}  // namespace herdlock::lab::trace
