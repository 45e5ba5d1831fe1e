#include "algo/told_listeners.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {

void told_listeners::add(listener one) {
  drop_gone();
  all_.push_back(std::make_shared<state>(state{std::move(one), 0}));
}

void told_listeners::drop_gone() {
  std::erase_if(all_, [](auto const& one) { return one->who.alive.expired(); });
}

std::int64_t told_listeners::from() const noexcept {
  auto const least = std::min_element(
      all_.begin(), all_.end(), [](auto const& a, auto const& b) { return a->heard < b->heard; });
  return least == all_.end() ? 0 : (*least)->heard;
}

void told_listeners::tell(told_rows const& found) {
  auto const all = all_;
  for (auto const& one : all) {
    // The listener came later, and rows before `from` are still to be asked for.
    if (one->heard < found.from) continue;
    auto const heard = std::exchange(one->heard, std::max(one->heard, found.through));
    for (auto const& row : found.rows) {
      auto const alive = one->who.alive.lock();
      if (alive && row.at > heard && row.topic == one->who.topic) one->who.hear(row);
    }
  }
}

}  // namespace herdlock::algo
