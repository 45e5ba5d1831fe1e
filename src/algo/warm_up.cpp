#include "algo/warm_up.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {

void warm_up::want(std::vector<wish> const& wishes) {
  auto before = std::exchange(keys_, {});
  for (auto const& one : wishes) {
    auto const known = keys_.find(one.key);
    if (known != keys_.end() && known->second.from_ms >= one.from_ms) continue;
    auto const old = before.find(one.key);
    state next = old != before.end() ? old->second : state();
    // A value that was there in time for one rule may not be there for the other.
    if (next.from_ms < one.from_ms) next.is_done = false;
    next.from_ms = one.from_ms;
    keys_[one.key] = next;
  }
}

void warm_up::begin_anew() {
  for (auto& [key, one] : keys_) {
    one.is_done = false;
    one.next_ms = 0;
  }
}

std::vector<std::string> warm_up::take_due(std::uint64_t now_ms) {
  std::vector<std::string> due;
  for (auto& [key, one] : keys_) {
    if (under_way_ >= most_under_way) break;
    // A time that is further away was set before the clock was.
    bool const is_later = one.next_ms > now_ms && one.next_ms - now_ms <= longest_pause_ms;
    if (one.is_done || one.is_under_way || is_later) continue;
    due.push_back(key);
    one.is_under_way = true;
    ++under_way_;
  }
  return due;
}

void warm_up::loaded(std::string_view key, loading how, std::uint64_t now_ms) {
  if (under_way_ > 0) --under_way_;
  auto const at = keys_.find(key);
  if (at == keys_.end()) return;
  state& one = at->second;
  one.is_under_way = false;
  bool const is_there = how == loading::succeeded;
  one.is_done = is_there && now_ms >= one.from_ms;
  if (!is_there) {
    one.next_ms = now_ms + one.pause_ms;
    one.pause_ms = std::min(2 * one.pause_ms, longest_pause_ms);
    return;
  }
  one.pause_ms = pause_ms;
  one.next_ms = now_ms + pause_ms < one.from_ms ? one.from_ms - pause_ms : one.from_ms;
}

std::optional<std::uint64_t> warm_up::next_due() const {
  if (under_way_ >= most_under_way) return std::nullopt;
  std::optional<std::uint64_t> next;
  for (auto const& [key, one] : keys_) {
    if (one.is_done || one.is_under_way) continue;
    next = std::min(one.next_ms, next.value_or(one.next_ms));
  }
  return next;
}

}  // namespace herdlock::algo
