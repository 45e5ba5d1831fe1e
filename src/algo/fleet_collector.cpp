#include "algo/fleet_collector.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {
namespace {

std::uint64_t ms_of(std::uint64_t bytes, std::uint64_t bytes_a_second) noexcept {
  return bytes * 1000 / bytes_a_second;
}

}  // namespace

void fleet_collector::began(std::uint64_t term, fleet_list const& before, clock::time_point now) {
  fleet_.emplace(thresholds_);
  fleet_->take_over(before.keys, now);
  last_ = before;
  if (last_.number.term != term) last_.number = {term, 0};
  last_bytes_ = encoded_bytes(last_);
  // A pause is spread from a half of it to three halves.
  ready_ = now + std::max<clock::duration>(fleet_list::shortest_interval, last_.pause() * 3 / 2) +
           longest_tick;
  listed_ = summed_ = hurried_ = ready_ - last_.interval();
  has_news_ = has_hot_key_ = false;
}

void fleet_collector::ended() noexcept { fleet_.reset(); }

fleet_hearing fleet_collector::heard(fleet_report report, clock::time_point now) {
  if (!fleet_) return fleet_hearing::old;
  bool const announces = std::any_of(report.keys.begin(), report.keys.end(), [&](auto const& one) {
    return one.hot && !fleet_->is_hot(one.key);
  });
  auto const how = fleet_->hear(std::move(report), now);
  if (how != fleet_hearing::news) return how;
  has_news_ = true;
  has_hot_key_ = has_hot_key_ || announces;
  return how;
}

bool fleet_collector::has_to_tell() const noexcept {
  return fleet_->processes() != 0 || last_.says_something();
}

clock::time_point fleet_collector::due() const noexcept {
  constexpr auto never = clock::time_point::max();
  if (!fleet_) return never;
  auto due = has_to_tell() ? listed_ + last_.interval() : never;
  if (has_news_) due = std::min(due, std::max(summed_ + look_gap, listed_ + gap()));
  if (has_hot_key_) due = std::min(due, std::max(hurried_, listed_) + gap());
  return std::max(due, ready_);
}

std::optional<fleet_list> fleet_collector::advance(clock::time_point now) {
  if (now < due()) return std::nullopt;
  auto const changes = fleet_->advance(now, silence());
  summed_ = now;
  if (has_hot_key_) hurried_ = now;
  has_news_ = has_hot_key_ = false;
  bool const is_time = now >= listed_ + last_.interval() && has_to_tell();
  if (!is_time && changes.empty()) return std::nullopt;
  last_ = list_of(fleet_->hot_and_others());
  last_bytes_ = encoded_bytes(last_);
  listed_ = now;
  return last_;
}

// All that are hot have room, as many as may be.
fleet_list fleet_collector::list_of(std::vector<fleet_sum> keys) const {
  fleet_list made{.number = {last_.number.term, last_.number.counter + 1},
                  .processes = fleet_->processes(),
                  .pause_ms = pause_ms(),
                  .keys = {}};
  auto bytes = encoded_bytes(made);
  for (fleet_sum& one : keys) {
    bytes += encoded_bytes(one);
    if (made.keys.size() == fleet_list::most_keys || (!one.hot && bytes > room_of_others)) break;
    made.keys.push_back(std::move(one));
  }
  return made;
}

std::uint64_t fleet_collector::pause_ms() const noexcept {
  auto const of_list = (last_bytes_ + hot_fleet::bytes_around) * fleet_->processes();
  return std::min(fleet_list::most_pause_ms, std::max(ms_of(fleet_->bytes(), most_heard_a_second),
                                                      ms_of(of_list, most_told_a_second)));
}

clock::duration fleet_collector::gap() const noexcept {
  return std::max<clock::duration>(least_gap, milliseconds(pause_ms()));
}

clock::duration fleet_collector::silence() const noexcept {
  clock::duration const interval = std::max<clock::duration>(last_.interval(), gap());
  return std::max(thresholds_.silence, silences * interval);
}

}  // namespace herdlock::algo
