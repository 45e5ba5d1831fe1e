#include "algo/node_clocks.hpp"

#include <algorithm>
#include <vector>

namespace herdlock::algo {

// Why: docs/stores/redlock.md#redlock-believes-the-median-clock
// The median: a minority of wrong clocks, ahead or behind, does not move it out of the right ones.
std::optional<std::int64_t> node_clocks::latest_believed() const {
  std::vector<std::int64_t> all;
  for (auto const& one : heard_) {
    if (one) all.push_back(*one);
  }
  if (all.size() < majority_of(count_)) return {};
  std::ranges::sort(all);
  return all[(all.size() - 1) / 2] + far_ahead;
}

std::int64_t node_clocks::ahead() const {
  auto const latest = latest_believed();
  if (!latest) return 0;
  std::optional<std::int64_t> most;
  for (auto const& one : heard_) {
    if (one && *one <= *latest) most = std::max(most.value_or(*one), *one);
  }
  return most.value_or(0);
}

node_set node_clocks::disbelieved() const {
  node_set set;
  auto const latest = latest_believed();
  for (std::size_t i = 0; latest && i < count_; ++i) {
    set.set(i, heard_[i] && *heard_[i] > *latest);
  }
  return set;
}

}  // namespace herdlock::algo
