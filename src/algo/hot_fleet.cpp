#include "algo/hot_fleet.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algo/fleet_pace.hpp"

namespace herdlock::algo {
namespace {

// The share of a key's reads that reports cover at least, when it is exactly at the threshold.
constexpr double told_share = 0.75;
constexpr std::uint64_t parts_of_threshold = 100;
constexpr std::size_t most_written = 4;  // for each that can be hot

heat_limits limits_of(fleet_thresholds const& thresholds) {
  return {.threshold = double(thresholds.threshold) * told_share,
          .reads_per_write = thresholds.reads_per_write,
          .cool_time = thresholds.cool_time,
          .calm_time = 2 * thresholds.cool_time};
}

}  // namespace

// FNV-1a, of what reports carry.
std::uint64_t number_of(fleet_thresholds const& thresholds) noexcept {
  constexpr std::uint64_t begin = 0xcbf29ce484222325, prime = 0x100000001b3;
  auto const cool = std::chrono::duration_cast<milliseconds>(thresholds.cool_time).count();
  std::uint64_t number = begin;
  for (std::uint64_t const one :
       {thresholds.threshold,
        static_cast<std::uint64_t>(std::llround(thresholds.reads_per_write * 1000)),
        static_cast<std::uint64_t>(cool), static_cast<std::uint64_t>(thresholds.most_hot)}) {
    number = (number ^ one) * prime;
  }
  return number | 1;
}

hot_fleet::hot_fleet(fleet_thresholds const& thresholds)
    : thresholds_(thresholds), limits_(limits_of(thresholds)) {}

fleet_hearing hot_fleet::hear(fleet_report report, clock::time_point now, std::size_t room) {
  if (!is_plausible(report)) return fleet_hearing::refused;
  auto const known = members_.find(report.process);
  bool const is_new = known == members_.end();
  if (!is_new && report.number <= known->second.newest.number) return fleet_hearing::old;
  auto const bytes = encoded_bytes(report) + bytes_around;
  auto const before = is_new ? 0 : known->second.bytes;
  if (bytes_ - before + bytes > thresholds_.most_bytes) return fleet_hearing::refused;
  if (bytes > before && bytes - before > room) return fleet_hearing::refused;
  bytes_ = bytes_ - before + bytes;
  auto const process = report.process;
  members_.insert_or_assign(process, member{std::move(report), bytes, now});
  return fleet_hearing::news;
}

bool hot_fleet::announces(fleet_report const& report) const {
  auto const known = members_.find(report.process);
  auto const was_said = [&](fleet_key const& one) {
    if (known == members_.end()) return false;
    auto const& before = known->second.newest.keys;
    return std::any_of(before.begin(), before.end(),
                       [&](fleet_key const& each) { return each.hot && each.key == one.key; });
  };
  return std::any_of(report.keys.begin(), report.keys.end(), [&](fleet_key const& one) {
    if (!one.hot || is_hot(one.key)) return false;
    auto const here = keys_.find(one.key);
    bool const may_be_hot = here == keys_.end() || here->second.state.may_be_hot();
    bool const has_room = hot_ < thresholds_.most_hot || least_hot(one.low);
    return may_be_hot && has_room && !was_said(one);
  });
}

std::uint64_t hot_fleet::least_to_take_part(fleet_thresholds const& thresholds) noexcept {
  return std::max<std::uint64_t>(thresholds.threshold / parts_of_threshold, 1);
}

std::uint64_t hot_fleet::least_to_name(fleet_thresholds const& thresholds,
                                       std::uint64_t processes) noexcept {
  auto const many = std::max<std::uint64_t>(processes, 1);
  return std::clamp<std::uint64_t>(thresholds.threshold / (4 * many), 1,
                                   least_to_take_part(thresholds));
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

bool hot_fleet::is_read(key_sum const& sum) const noexcept {
  return limits_.is_read_enough(double(sum.low), 1, 1) &&
         !limits_.is_written_too_often({sum.low, sum.writes}, 1);
}

// Null: nobody names it.
heat_look hot_fleet::look_at(key_sum const* sum) const noexcept {
  if (!sum) return {.hardly_read = true, .written_too_often = false};
  return {.hardly_read = !limits_.is_read_enough(double(sum->low), 1, 0.5),
          .written_too_often = limits_.is_written_too_often({sum->low, sum->writes}, 0.5)};
}

std::vector<fleet_change> hot_fleet::advance(clock::time_point now) {
  std::erase_if(members_, [&, processes = members_.size()](auto const& each) {
    member const& one = each.second;
    auto const sent = one.bytes - bytes_around;
    bool const is_gone =
        now - one.heard >= fleet_pace::silence(processes, sent, thresholds_.silence);
    if (is_gone) bytes_ -= one.bytes;
    return is_gone;
  });
  return look(now);
}

std::vector<fleet_change> hot_fleet::advance(clock::time_point now, clock::duration silence) {
  std::erase_if(members_, [&](auto const& each) {
    bool const is_gone = now - each.second.heard >= silence;
    if (is_gone) bytes_ -= each.second.bytes;
    return is_gone;
  });
  return look(now);
}

void hot_fleet::take_over(std::vector<fleet_sum> const& keys, clock::time_point now) {
  for (fleet_sum const& one : keys) {
    if (!one.hot || hot_ >= thresholds_.most_hot) continue;
    auto& made = keys_[one.key];
    if (!made.state.hot()) ++hot_;
    made = {.state = {}, .since = now, .by_sums = true, .was_low = true, .low = one.low};
    made.state.take_over_hot(limits_);
  }
}

std::vector<fleet_change> hot_fleet::look(clock::time_point now) {
  std::vector<fleet_change> changes;
  auto const sums = sum_up();
  hot_time const at{now, now - std::exchange(looked_, now)};
  find_cooled(sums, at, changes);
  forget_calmest();
  find_hot(sums, at, changes);
  return changes;
}

void hot_fleet::forget_calmest() {
  while (keys_.size() - hot_ > most_written * thresholds_.most_hot) {
    keys_.erase(std::min_element(keys_.begin(), keys_.end(), [](auto const& a, auto const& b) {
      heat const &one = a.second.state, &other = b.second.state;
      return std::pair(one.hot(), one.calm_left()) < std::pair(other.hot(), other.calm_left());
    }));
  }
}

void hot_fleet::find_cooled(key_sums const& sums, hot_time at, std::vector<fleet_change>& out) {
  for (auto next = keys_.begin(); next != keys_.end();) {
    auto const here = next++;
    auto& [key, one] = *here;
    auto const found = sums.find(key);
    auto const* const sum = found != sums.end() ? &found->second : nullptr;
    if (!one.state.hot()) {  // it passes its calm
      one.state.look(look_at(sum), {.took = at.took, .low_for = {}, .hot_for = {}}, limits_);
    } else if (cools(one, sum, at)) {
      --hot_;
      out.push_back({fleet_change::kind::cooled, key});
      if (!one.state.remembers_writes()) keys_.erase(here);
    }
  }
}

bool hot_fleet::cools(known_key& one, key_sum const* sum, hot_time at) const {
  auto seen = look_at(sum);
  heat_times const times{.took = at.took,
                         .low_for = one.was_low ? at.took : clock::duration(0),
                         .hot_for = at.now - one.since};
  one.was_low = seen.is_low();
  one.low = sum ? sum->low : 0;
  // A key that its sums never made hot waits for nothing: whoever announced it has waited before it
  // says that the key is not hot any more.
  auto limits = limits_;
  if (!one.by_sums) limits.cool_time = clock::duration(0);
  bool const is_low = one.state.look(seen, times, limits);
  if (!is_low || (sum && sum->announced)) return false;
  if (sum && !one.by_sums) seen.hardly_read = false;
  one.state.cool(seen, times, limits_);
  return true;
}

// If there is no room for all keys, those that are read most become hot.
void hot_fleet::find_hot(key_sums const& sums, hot_time at, std::vector<fleet_change>& out) {
  std::vector<key_sums::value_type const*> found;
  for (auto const& one : sums) {
    bool const by_sums = is_read(one.second);
    auto const known = keys_.find(one.first);
    bool const is_known = known != keys_.end();
    if (is_known && known->second.state.hot()) {
      known->second.by_sums = known->second.by_sums || by_sums;
    } else if ((one.second.announced || by_sums) &&
               (!is_known || known->second.state.may_be_hot())) {
      found.push_back(&one);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](auto const* a, auto const* b) { return a->second.low > b->second.low; });
  for (auto const* one : found) {
    if (hot_ >= thresholds_.most_hot && !make_room(one->second, out)) return;
    make_hot(one->first, one->second, at);
    out.push_back({fleet_change::kind::hot, std::string(one->first), one->second.low});
  }
}

std::string const* hot_fleet::least_hot(std::uint64_t low) const {
  auto const least = std::min_element(keys_.begin(), keys_.end(), [](auto const& a, auto const& b) {
    known_key const &one = a.second, &other = b.second;
    return std::pair(!one.state.hot(), one.low) < std::pair(!other.state.hot(), other.low);
  });
  bool const is_clearly_more = low > least->second.low && low / 2 >= least->second.low;
  return is_clearly_more ? &least->first : nullptr;
}

bool hot_fleet::make_room(key_sum const& needed, std::vector<fleet_change>& out) {
  auto const* const least = least_hot(needed.low);
  if (!least) return false;
  out.push_back({fleet_change::kind::cooled, *least});
  --hot_;
  keys_.erase(keys_.find(*least));
  return true;
}

void hot_fleet::make_hot(std::string_view key, key_sum const& sum, hot_time at) {
  known_key& made = keys_[std::string(key)];
  made = {.state = made.state, .since = at.now, .by_sums = is_read(sum), .low = sum.low};
  made.state.make_hot(limits_);
  ++hot_;
}

fleet_sum hot_fleet::sum_of(std::string_view key, key_sum const& sum) const {
  return {std::string(key), sum.low,     sum.high,    sum.writes,
          sum.processes,    is_hot(key), sum.kept_by, sum.kept_ms};
}

std::vector<fleet_sum> hot_fleet::top(std::size_t most) const {
  std::vector<fleet_sum> all;
  for (auto const& [key, sum] : sum_up()) all.push_back(sum_of(key, sum));
  auto const end = all.begin() + static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::partial_sort(all.begin(), end, all.end(),
                    [](fleet_sum const& a, fleet_sum const& b) { return a.low > b.low; });
  all.erase(end, all.end());
  return all;
}

std::vector<fleet_sum> hot_fleet::hot_and_others() const {
  std::vector<fleet_sum> all;
  auto const sums = sum_up();
  for (auto const& [key, sum] : sums) all.push_back(sum_of(key, sum));
  for (auto const& [key, one] : keys_) {
    if (one.state.hot() && !sums.contains(key)) all.push_back({.key = key, .hot = true});
  }
  std::stable_sort(all.begin(), all.end(), [](fleet_sum const& a, fleet_sum const& b) {
    return std::pair(a.hot, a.low) > std::pair(b.hot, b.low);
  });
  return all;
}

}  // namespace herdlock::algo
