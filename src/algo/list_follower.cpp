#include "algo/list_follower.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {
namespace {

// They are sorted by key.
bool has_hot(std::vector<fleet_sum> const& keys, std::string_view key) {
  auto const at =
      std::lower_bound(keys.begin(), keys.end(), key,
                       [](fleet_sum const& one, std::string_view name) { return one.key < name; });
  return at != keys.end() && at->key == key && at->hot;
}

}  // namespace

bool list_follower::is_hot(std::string_view key) const { return has_hot(list_.keys, key); }

std::size_t list_follower::hot() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(list_.keys.begin(), list_.keys.end(), [](auto const& one) { return one.hot; }));
}

bool list_follower::is_old(list_number number, clock::time_point now) {
  if (number > list_.number) return false;
  bool const others_come = now - came_ < quiet_for() + keeps_without;
  if (others_come || number.term == list_.number.term) return true;
  if (number.term == lower_.number.term) {
    return number.counter <= lower_.number.counter || now - lower_.came < believes_after;
  }
  if (number.term > lower_.number.term) lower_ = {number, now};
  return true;
}

list_follower::taken list_follower::take(fleet_list list, clock::time_point now) {
  if (!is_plausible(list)) return {fleet_hearing::refused, {}};
  if (is_old(list.number, now)) return {fleet_hearing::old, {}};
  taken made{fleet_hearing::news, {}};
  std::sort(list.keys.begin(), list.keys.end(),
            [](fleet_sum const& a, fleet_sum const& b) { return a.key < b.key; });
  for (fleet_sum const& one : list_.keys) {
    if (one.hot && !has_hot(list.keys, one.key)) {
      made.changes.push_back({fleet_change::kind::cooled, one.key});
    }
  }
  for (fleet_sum const& one : list.keys) {
    if (!one.hot || is_hot(one.key)) continue;
    made.changes.push_back({fleet_change::kind::hot, one.key, one.low});
  }
  // Those that have cooled have no reads.
  std::stable_sort(made.changes.begin(), made.changes.end(), [](auto const& a, auto const& b) {
    return std::pair(a.what == fleet_change::kind::cooled, a.low) >
           std::pair(b.what == fleet_change::kind::cooled, b.low);
  });
  list_ = std::move(list);
  came_ = now;
  lower_ = {};
  return made;
}

std::vector<fleet_change> list_follower::advance(clock::time_point now) {
  std::vector<fleet_change> changes;
  if (now < due()) return changes;
  for (fleet_sum const& one : list_.keys) {
    if (one.hot) changes.push_back({fleet_change::kind::cooled, one.key});
  }
  list_ = {
      .number = list_.number, .processes = 0, .pause_ms = list_.pause_ms, .keys = {}, .options = 0};
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
