#include "algo/warm_up.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {

warm_up::wanted* warm_up::find(std::string_view key) {
  auto const at =
      std::lower_bound(keys_.begin(), keys_.end(), key,
                       [](wanted const& one, std::string_view name) { return one.key < name; });
  return at != keys_.end() && at->key == key ? &*at : nullptr;
}

void warm_up::want(std::vector<wish> wishes) {
  std::sort(wishes.begin(), wishes.end(), [](wish const& a, wish const& b) {
    return a.key != b.key ? a.key < b.key : a.from_ms > b.from_ms;
  });
  std::vector<wanted> next;
  for (wish& one : wishes) {
    if (!next.empty() && next.back().key == one.key) continue;
    auto const* const before = find(one.key);
    wanted made = before ? *before : wanted{.key = std::move(one.key)};
    // A value that was there in time for one rule may not be there for the other.
    if (made.from_ms < one.from_ms) made.is_done = false;
    made.from_ms = one.from_ms;
    next.push_back(std::move(made));
  }
  keys_ = std::move(next);
}

void warm_up::begin_anew() {
  for (wanted& one : keys_) {
    one.is_done = false;
    one.next_ms = 0;
  }
}

std::vector<std::string> warm_up::take_due(std::uint64_t now_ms) {
  std::vector<std::string> due;
  for (wanted& one : keys_) {
    if (under_way_ >= most_under_way) break;
    // A time that is further away was set before the clock was.
    bool const is_later = one.next_ms > now_ms && one.next_ms - now_ms <= longest_pause_ms;
    if (one.is_done || one.is_under_way || is_later) continue;
    due.push_back(one.key);
    one.is_under_way = true;
    ++under_way_;
  }
  return due;
}

void warm_up::loaded(std::string_view key, loading how, std::uint64_t now_ms) {
  if (under_way_ > 0) --under_way_;
  wanted* const found = find(key);
  if (!found) return;
  wanted& one = *found;
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
  for (wanted const& one : keys_) {
    if (one.is_done || one.is_under_way) continue;
    next = std::min(one.next_ms, next.value_or(one.next_ms));
  }
  return next;
}

}  // namespace herdlock::algo
