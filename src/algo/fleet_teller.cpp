#include "algo/fleet_teller.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "algo/fleet_pace.hpp"

namespace herdlock::algo {
namespace {

// A number from 0 to less than 1, another for each report: the process is a random number, which
// splitmix64 spreads (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
double part_of(std::uint64_t number) {
  std::uint64_t z = number * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

template <class Predicate>
std::vector<std::string> sorted_names(std::vector<fleet_key> const& of, Predicate counts) {
  std::vector<std::string> names;
  for (fleet_key const& one : of) {
    if (counts(one)) names.push_back(one.key);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

bool fleet_teller::was_told_hot(fleet_key const& one) const {
  return std::binary_search(told_hot_.begin(), told_hot_.end(), one.key);
}

bool fleet_teller::is_news(fleet_key const& one, fleet_view const& fleet) const {
  bool const is_listed = fleet.list && fleet.list->is_hot(one.key);
  return one.hot && !is_listed && !was_told_hot(one);
}

clock::duration fleet_teller::pause_in(fleet_view const& fleet) const {
  if (!fleet.list) return fleet_pace::pause(fleet.processes, last_bytes_, part_);
  auto const mean = static_cast<double>(fleet.list->list().pause_ms);
  return milliseconds(static_cast<milliseconds::rep>(mean * (0.5 + part_)));
}

milliseconds fleet_teller::interval_now() const noexcept {
  return std::min(longest_interval, interval * (1 << std::max(0, unheard_ - most_unheard)));
}

bool fleet_teller::is_due(std::vector<fleet_key> const& named, fleet_view const& fleet,
                          clock::time_point now) const {
  if (!last_) return !named.empty();
  auto const passed = now - *last_;
  auto const pause = pause_in(fleet);
  if (!fleet.list && passed < pause) return false;
  auto const at_least = [pause](milliseconds time) {
    return std::max<clock::duration>(time, pause);
  };
  if (passed >= at_least(interval_now())) return !named.empty() || has_named_;
  if (unheard_ > most_unheard) return false;
  if (has_cooled_ && passed >= at_least(gap_of_cooled)) return true;
  if (last_news_ && now - *last_news_ < at_least(least_gap)) return false;
  return std::any_of(named.begin(), named.end(),
                     [&](auto const& one) { return is_news(one, fleet); });
}

std::optional<fleet_report> fleet_teller::report(std::vector<fleet_key> known,
                                                 std::uint64_t uncounted, fleet_view const& fleet,
                                                 clock::time_point now) {
  if (!fleet.list || fleet.list->has_collector(now)) unheard_ = 0;
  auto still_hot =
      sorted_names(known, [this](fleet_key const& one) { return one.hot && was_told_hot(one); });
  has_cooled_ = has_cooled_ || still_hot.size() != told_hot_.size();
  told_hot_ = std::move(still_hot);
  // Hot keys come first, so that there is room for them; those that were named stay, so that keys
  // for which there is no room are no news by turns.
  auto const rank = [this](fleet_key const& one) {
    return std::tuple(one.hot, was_told_hot(one), one.high);
  };
  std::sort(known.begin(), known.end(),
            [&](fleet_key const& a, fleet_key const& b) { return rank(a) > rank(b); });
  std::vector<fleet_key> named;
  std::uint64_t rest = std::min(uncounted, fleet_report::most_uses);
  for (fleet_key& one : known) {
    // A longer key is known by its beginning, and may be another key elsewhere.
    bool const has_name = !one.key.empty() && one.key.size() < fleet_report::most_key_bytes;
    bool const has_room = named.size() < fleet_report::most_keys;
    one.high = std::min(one.high, fleet_report::most_uses);
    one.low = std::min(one.low, one.high);
    one.writes = std::min(one.writes, fleet_report::most_uses);
    if (has_name && has_room && (one.hot || one.high >= fleet.least)) {
      named.push_back(std::move(one));
    } else {
      rest = std::max(rest, one.high);
    }
  }
  if (!is_due(named, fleet, now)) return std::nullopt;
  last_ = now;
  if (fleet.list) unheard_ = std::min(unheard_ + 1, most_unheard + 4);
  has_named_ = !named.empty();
  has_cooled_ = false;
  for (fleet_key const& one : named) {
    if (is_news(one, fleet)) last_news_ = now;
  }
  // Keys that were told before and are still hot are named again: they come first.
  told_hot_ = sorted_names(named, [](fleet_key const& one) { return one.hot; });
  fleet_report made{process_, ++number_, rest, std::move(named)};
  last_bytes_ = encoded_bytes(made);
  part_ = part_of(process_ ^ number_);
  return made;
}

}  // namespace herdlock::algo
