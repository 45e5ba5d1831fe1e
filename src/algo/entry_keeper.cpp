#include "algo/entry_keeper.hpp"

#include <algorithm>

namespace herdlock::algo {

void entry_keeper::hot(std::string_view key, clock::time_point now) {
  if (auto const at = entries_.find(key); at != entries_.end()) {
    at->second.is_hot = true;
    at->second.has_rule = true;
    return;
  }
  if (entries_.size() >= most_keys) forget_cooled(now);
  if (entries_.size() < most_keys) entries_.try_emplace(std::string(key));
}

void entry_keeper::cooled(std::string_view key) {
  auto const at = entries_.find(key);
  if (at == entries_.end()) return;
  at->second.is_hot = false;
  bool const was_never_asked = at->second.not_before == clock::time_point{};
  if (was_never_asked) entries_.erase(at);
}

void entry_keeper::ruled() {
  for (auto& [key, one] : entries_) one.has_rule = true;
}

std::vector<entry_keeper::question> entry_keeper::due(clock::time_point now,
                                                      bound_of const& bound) {
  forget_cooled(now);
  std::vector<question> asked;
  for (auto& [key, one] : entries_) {
    if (!one.is_hot || one.is_asked || !one.has_rule || now < one.not_before) continue;
    auto const at_most = bound(key);
    one.has_rule = at_most.has_value();
    if (!at_most) continue;
    auto const to = std::min(longest_step, *at_most);
    one.is_asked = true;
    one.not_before = now + to / 3;
    asked.push_back({key, to, *at_most});
  }
  return asked;
}

void entry_keeper::answered(std::string_view key) {
  if (auto const at = entries_.find(key); at != entries_.end()) at->second.is_asked = false;
}

std::optional<clock::time_point> entry_keeper::next() const {
  std::optional<clock::time_point> soonest;
  for (auto const& [key, one] : entries_) {
    if (!one.is_hot || one.is_asked || !one.has_rule) continue;
    soonest = std::min(one.not_before, soonest.value_or(one.not_before));
  }
  return soonest;
}

// Cooled keys are known until they may be asked for again, so that they are not asked before.
void entry_keeper::forget_cooled(clock::time_point now) {
  std::erase_if(entries_, [&](auto const& each) {
    entry const& one = each.second;
    return !one.is_hot && !one.is_asked && one.not_before <= now;
  });
}

}  // namespace herdlock::algo
