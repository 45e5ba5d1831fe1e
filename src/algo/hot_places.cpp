#include "algo/hot_places.hpp"

#include <utility>

namespace herdlock::algo {

bool hot_places::becomes_hot(std::string_view key, std::uint64_t hash, hot_by how) {
  if (auto* const place = find(hash)) {
    (how == hot_by::fleet ? place->fleet : place->our_count) = true;
    return false;
  }
  bool const others_are_first = taken_.size() >= most_ || !waiting_.empty();
  if (how == hot_by::fleet && others_are_first) {
    bool const has_room = waiting_.size() < most_ && !in_line_.contains(hash);
    if (has_room) in_line_.emplace(hash, waiting_.insert(waiting_.end(), {std::string(key), hash}));
    return false;
  }
  // The fleet may have named it before.
  bool const by_fleet = stops_waiting(hash) || how == hot_by::fleet;
  taken_.emplace(hash, hot_place{.our_count = how == hot_by::our_count, .fleet = by_fleet});
  return true;
}

std::optional<hot_place> hot_places::cools(std::uint64_t hash, hot_by how) {
  if (how == hot_by::fleet) stops_waiting(hash);
  auto* const place = find(hash);
  if (!place) return std::nullopt;
  (how == hot_by::fleet ? place->fleet : place->our_count) = false;
  if (place->our_count || place->fleet) return std::nullopt;
  return std::move(taken_.extract(hash).mapped());
}

std::optional<hot_places::named_key> hot_places::take_free() {
  if (waiting_.empty() || taken_.size() >= most_) return std::nullopt;
  taken_.emplace(waiting_.front().hash, hot_place{.our_count = false, .fleet = true});
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  in_line_.erase(next.hash);
  return next;
}

bool hot_places::stops_waiting(std::uint64_t hash) {
  auto const found = in_line_.find(hash);
  if (found == in_line_.end()) return false;
  waiting_.erase(found->second);
  in_line_.erase(found);
  return true;
}

}  // namespace herdlock::algo
