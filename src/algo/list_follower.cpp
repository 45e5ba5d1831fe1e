#include "algo/list_follower.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {

list_follower::taken list_follower::take(fleet_list list, clock::time_point now) {
  if (!is_plausible(list)) return {fleet_hearing::refused, {}};
  if (list.number <= list_.number) return {fleet_hearing::old, {}};
  taken made{fleet_hearing::news, {}};
  std::set<std::string, std::less<>> hot;
  for (fleet_sum const& one : list.keys) {
    if (one.hot) hot.insert(one.key);
  }
  for (auto const& key : hot_) {
    if (!hot.contains(key)) made.changes.push_back({fleet_change::kind::cooled, key});
  }
  for (auto const& key : hot) {
    if (!is_hot(key)) made.changes.push_back({fleet_change::kind::hot, key});
  }
  hot_ = std::move(hot);
  list_ = std::move(list);
  came_ = now;
  return made;
}

std::vector<fleet_change> list_follower::advance(clock::time_point now) {
  std::vector<fleet_change> changes;
  if (now < due()) return changes;
  for (auto const& key : hot_) changes.push_back({fleet_change::kind::cooled, key});
  hot_.clear();
  list_ = {.number = list_.number, .processes = 0, .pause_ms = 0, .keys = {}};
  return changes;
}

clock::duration list_follower::quiet_for() const noexcept {
  return 2 * (longest_term + list_.interval() + slack);
}

clock::time_point list_follower::due() const noexcept {
  constexpr auto never = clock::time_point::max();
  return list_.says_something() ? came_ + quiet_for() + keeps_without : never;
}

bool list_follower::has_collector(clock::time_point now) const noexcept {
  return list_.number != list_number() && now - came_ < quiet_for();
}

std::vector<fleet_sum> list_follower::top(std::size_t most) const {
  auto all = list_.keys;
  std::stable_sort(all.begin(), all.end(),
                   [](fleet_sum const& a, fleet_sum const& b) { return a.low > b.low; });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace herdlock::algo
