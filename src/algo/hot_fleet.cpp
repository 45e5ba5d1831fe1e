#include "algo/hot_fleet.hpp"

#include <algorithm>
#include <utility>

#include "algo/fleet_pace.hpp"

namespace herdlock::algo {
namespace {

// The share of a key's reads that reports must cover, when it is exactly at the threshold.
constexpr double told_of = 0.75;
constexpr std::uint64_t parts_of_threshold = 100;
constexpr int most_fleet_doublings = 6;
constexpr std::size_t most_written = 4;  // for each that can be hot

}  // namespace

fleet_hearing hot_fleet::hear(fleet_report report, clock::time_point now) {
  if (!is_plausible(report)) return fleet_hearing::refused;
  auto const known = members_.find(report.process);
  if (known == members_.end()) {
    if (members_.size() >= most_processes) return fleet_hearing::refused;
    auto const process = report.process;
    auto const bytes = encoded_bytes(report);
    members_.emplace(process, member{std::move(report), bytes, now});
    return fleet_hearing::news;
  }
  if (report.number <= known->second.newest.number) return fleet_hearing::old;
  auto const bytes = encoded_bytes(report);
  known->second = {std::move(report), bytes, now};
  return fleet_hearing::news;
}

std::uint64_t hot_fleet::least_to_take_part(fleet_thresholds const& thresholds) noexcept {
  return std::max<std::uint64_t>(thresholds.threshold / parts_of_threshold, 1);
}

std::uint64_t hot_fleet::least_to_name() const noexcept {
  auto const processes = std::max<std::uint64_t>(members_.size(), 1);
  return std::clamp<std::uint64_t>(thresholds_.threshold / (4 * processes), 1,
                                   least_to_take_part(thresholds_));
}

hot_fleet::key_sums hot_fleet::sum_up() const {
  key_sums sums;
  std::uint64_t rest = 0;
  for (auto const& [process, one] : members_) {
    rest += one.newest.rest;
    for (fleet_key const& each : one.newest.keys) {
      auto& sum = sums[each.key];
      sum.low += each.low;
      sum.high += each.high;
      sum.rest += one.newest.rest;
      // Each process that keeps the key is told of all its writes, others know of their own.
      if (is_hot(each.key) || each.kept_ms > 0) {
        sum.told_writes = std::max(sum.told_writes, each.writes);
      } else {
        sum.own_writes += each.writes;
      }
      ++sum.processes;
      if (each.kept_ms > 0) ++sum.kept_by;
      sum.kept_ms = std::max(sum.kept_ms, each.kept_ms);
      sum.announced = sum.announced || each.hot;
    }
  }
  // The processes that do not name a key may read it, too: each at most its `rest`.
  for (auto& [key, sum] : sums) {
    sum.high += rest - sum.rest;
    sum.writes = std::max(sum.told_writes, sum.own_writes);
  }
  return sums;
}

// The key has that share of what makes a key hot, or more.
bool hot_fleet::is_read(key_sum const& sum, double share) const noexcept {
  return has_reads(sum, share) && !is_written_too_often(sum, share);
}

bool hot_fleet::has_reads(key_sum const& sum, double share) const noexcept {
  return double(sum.low) >= double(thresholds_.threshold) * told_of * share;
}

bool hot_fleet::is_written_too_often(key_sum const& sum, double share) const noexcept {
  return double(sum.low) < double(sum.writes) * thresholds_.reads_per_write * share;
}

clock::duration hot_fleet::calm_for(int doublings) const noexcept {
  return thresholds_.cool_time * (2 << doublings);
}

// The writes of a key are forgotten if it was hot for longer than it had to be calm before, or was
// calm for that long afterwards.
void hot_fleet::forget_old_writes(std::string_view key, clock::time_point since,
                                  clock::time_point now) {
  auto const at = written_.find(key);
  if (at == written_.end()) return;
  auto const had_to_be_calm = calm_for(at->second.doublings) / 2;
  bool const was_worth_it = now - since > had_to_be_calm + thresholds_.cool_time;
  bool const is_long_ago = since - at->second.calm_until > had_to_be_calm;
  if (was_worth_it || is_long_ago) written_.erase(at);
}

void hot_fleet::cool_by_writes(std::string_view key, clock::time_point now) {
  bool const has_room = written_.size() < most_written * thresholds_.most_hot;
  if (!has_room) {
    written_.erase(std::min_element(written_.begin(), written_.end(), [](auto& a, auto& b) {
      return a.second.calm_until < b.second.calm_until;
    }));
  }
  auto& one = written_.try_emplace(std::string(key)).first->second;
  one.calm_until = now + calm_for(one.doublings);
  one.doublings = std::min(one.doublings + 1, most_fleet_doublings);
}

std::vector<fleet_change> hot_fleet::advance(clock::time_point now) {
  std::erase_if(members_, [&, processes = members_.size()](auto const& each) {
    auto const& [newest, bytes, heard] = each.second;
    return now - heard >= fleet_pace::silence(processes, bytes, thresholds_.silence);
  });
  std::vector<fleet_change> changes;
  auto const sums = sum_up();
  find_cooled(sums, now, changes);
  find_hot(sums, now, changes);
  return changes;
}

// If there is no room for all keys, those that are read most become hot.
void hot_fleet::find_hot(key_sums const& sums, clock::time_point now,
                         std::vector<fleet_change>& out) {
  std::vector<key_sums::value_type const*> found;
  for (auto const& one : sums) {
    bool const by_sums = is_read(one.second, 1);
    auto const known = hot_.find(one.first);
    if (known != hot_.end()) {
      known->second.by_sums = known->second.by_sums || by_sums;
    } else if (one.second.announced || by_sums) {
      auto const written = written_.find(one.first);
      bool const is_calm = written == written_.end() || now >= written->second.calm_until;
      if (is_calm) found.push_back(&one);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](auto const* a, auto const* b) { return a->second.low > b->second.low; });
  for (auto const* one : found) {
    if (hot_.size() >= thresholds_.most_hot) return;
    hot_.emplace(
        one->first,
        fleet_hot_since{.since = now, .by_sums = is_read(one->second, 1), .low_since = {}});
    out.push_back({fleet_change::kind::hot, std::string(one->first)});
  }
}

// A process that announces a key has waited before it says that the key is not hot any more.
void hot_fleet::find_cooled(key_sums const& sums, clock::time_point now,
                            std::vector<fleet_change>& out) {
  for (auto at = hot_.begin(); at != hot_.end();) {
    auto const found = sums.find(at->first);
    bool const named = found != sums.end();
    auto& [since, by_sums, low_since] = at->second;
    if (named && is_read(found->second, 0.5)) {
      low_since.reset();
    } else if (!low_since) {
      low_since = now;
    }
    bool const was_low = low_since && (!by_sums || now - *low_since >= thresholds_.cool_time);
    if (!was_low || (named && found->second.announced)) {
      ++at;
      continue;
    }
    forget_old_writes(at->first, since, now);
    // A key that is hardly read does not come and go by writes.
    bool const is_read_enough = named && (!by_sums || has_reads(found->second, 0.5));
    if (is_read_enough && is_written_too_often(found->second, 0.5)) cool_by_writes(at->first, now);
    out.push_back({fleet_change::kind::cooled, at->first});
    at = hot_.erase(at);
  }
}

std::vector<fleet_sum> hot_fleet::top(std::size_t most) const {
  std::vector<fleet_sum> all;
  for (auto const& [key, sum] : sum_up()) {
    all.push_back({std::string(key), sum.low, sum.high, sum.writes, sum.processes, is_hot(key),
                   sum.kept_by, sum.kept_ms});
  }
  auto const end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), end, all.end(),
                    [](fleet_sum const& a, fleet_sum const& b) { return a.low > b.low; });
  all.erase(end, all.end());
  return all;
}

}  // namespace herdlock::algo
