#include "algo/hot_places.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {

void hot_places::waits(named_key name, std::uint64_t low) {
  auto const hash = name.hash;
  in_line_.emplace(hash, waiting_.insert(waiting_.end(), {std::move(name), low}));
}

hot_places::line::iterator hot_places::hottest() {
  return std::max_element(waiting_.begin(), waiting_.end(),
                          [](waiting_key const& a, waiting_key const& b) { return a.low < b.low; });
}

bool hot_places::becomes_hot(std::string_view key, std::uint64_t hash, hot_by how,
                             std::uint64_t low) {
  auto const found = taken_.find(hash);
  if (found != taken_.end()) {
    (how == hot_by::fleet ? found->second.fleet : found->second.our_count) = true;
    found->second.low = std::max(found->second.low, low);
    return false;
  }
  bool const others_are_first = taken_.size() >= most_ || !waiting_.empty();
  if (how == hot_by::fleet && others_are_first) {
    bool const has_room = waiting_.size() < most_ && !in_line_.contains(hash);
    if (has_room) waits({std::string(key), hash}, low);
    return false;
  }
  // The fleet may have named it before.
  bool const by_fleet = stops_waiting(hash) || how == hot_by::fleet;
  taken_.emplace(hash, reasons{.our_count = how == hot_by::our_count,
                               .fleet = by_fleet,
                               .key = std::string(key),
                               .low = low});
  return true;
}

bool hot_places::cools(std::uint64_t hash, hot_by how) {
  if (how == hot_by::fleet) stops_waiting(hash);
  auto const found = taken_.find(hash);
  if (found == taken_.end()) return false;
  (how == hot_by::fleet ? found->second.fleet : found->second.our_count) = false;
  if (found->second.our_count || found->second.fleet) return false;
  taken_.erase(found);
  return true;
}

std::optional<hot_places::named_key> hot_places::take_free() {
  if (waiting_.empty() || taken_.size() >= most_) return std::nullopt;
  auto const first = hottest();
  auto next = std::move(first->name);
  taken_.emplace(next.hash, reasons{.fleet = true, .key = next.key, .low = first->low});
  waiting_.erase(first);
  in_line_.erase(next.hash);
  return next;
}

std::optional<hot_places::named_key> hot_places::make_room() {
  if (waiting_.empty() || taken_.size() != most_) return std::nullopt;
  auto const least =
      std::min_element(taken_.begin(), taken_.end(), [](auto const& a, auto const& b) {
        return std::pair(a.second.our_count, a.second.low) <
               std::pair(b.second.our_count, b.second.low);
      });
  auto const low = hottest()->low;
  bool const is_clearly_more = low > least->second.low && low / 2 >= least->second.low;
  if (least->second.our_count || !is_clearly_more) return std::nullopt;
  named_key out{std::move(least->second.key), least->first};
  waits(out, least->second.low);
  taken_.erase(least);
  return out;
}

bool hot_places::stops_waiting(std::uint64_t hash) {
  auto const found = in_line_.find(hash);
  if (found == in_line_.end()) return false;
  waiting_.erase(found->second);
  in_line_.erase(found);
  return true;
}

}  // namespace herdlock::algo
