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
  began_ = now;
  last_.number = before.number.term == term ? before.number : list_number{term, 0};
  has_news_ = has_hot_key_ = has_listed_ = false;
  take_over(before, now);
}

void fleet_collector::learned(fleet_list const& before, clock::time_point now) {
  if (fleet_ && !has_listed_) take_over(before, now);
}

void fleet_collector::take_over(fleet_list const& before, clock::time_point now) {
  fleet_->take_over(before.keys, now);
  last_ = {last_.number, before.processes, before.pause_ms, before.keys, before.options};
  last_bytes_ = encoded_bytes(last_);
  // A pause is spread from a half of it to three halves.
  auto const listens =
      std::max<clock::duration>(fleet_list::shortest_interval, last_.pause() * 3 / 2);
  ready_ = began_ + listens + longest_tick;
  latest_ = std::max(ready_, began_ + silence());
  listed_ = summed_ = hurried_ = ready_ - last_.interval();
}

// The collector before is none of the others: it may be gone.
bool fleet_collector::has_heard_enough() const noexcept {
  auto const others = last_.processes > 0 ? last_.processes - 1 : 0;
  return has_listed_ || fleet_->processes() >= others * 9 / 10;
}

void fleet_collector::ended() noexcept { fleet_.reset(); }

fleet_hearing fleet_collector::heard(fleet_report report, clock::time_point now, std::size_t room) {
  if (!fleet_) return fleet_hearing::old;
  bool const announces = fleet_->announces(report);
  auto const how = fleet_->hear(std::move(report), now, room);
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
  auto const looks = std::max<clock::duration>(look_gap, gap());
  if (has_news_) due = std::min(due, std::max(summed_ + looks, listed_ + gap()));
  if (has_hot_key_) due = std::min(due, std::max(hurried_, listed_) + gap());
  return std::max(due, has_heard_enough() ? ready_ : latest_);
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
  has_listed_ = true;
  return last_;
}

// All that are hot have room, as many as may be.
fleet_list fleet_collector::list_of(std::vector<fleet_sum> keys) const {
  fleet_list made{.number = {last_.number.term, last_.number.counter + 1},
                  .processes = fleet_->processes(),
                  .pause_ms = pause_ms(),
                  .keys = {},
                  .options = number_of(thresholds_)};
  auto bytes = encoded_bytes(made);
  for (fleet_sum& one : keys) {
    bytes += encoded_bytes(one);
    if (made.keys.size() == fleet_list::most_keys || (!one.hot && bytes > room_of_others)) break;
    made.keys.push_back(std::move(one));
  }
  return made;
}

fleet_collector::load fleet_collector::own_load() const noexcept {
  if (!fleet_) return {};
  return {fleet_->bytes(), (last_bytes_ + hot_fleet::bytes_around) * fleet_->processes()};
}

std::uint64_t fleet_collector::pause_ms() const noexcept {
  auto const own = own_load();
  return std::min(fleet_list::most_pause_ms,
                  std::max(ms_of(own.heard + others_.heard, most_heard_a_second),
                           ms_of(own.told + others_.told, most_told_a_second)));
}

clock::duration fleet_collector::gap() const noexcept {
  return std::max<clock::duration>(least_gap, milliseconds(pause_ms()));
}

clock::duration fleet_collector::silence() const noexcept {
  clock::duration const interval = std::max<clock::duration>(last_.interval(), gap());
  return std::max(thresholds_.silence, silences * interval);
}

}  // namespace herdlock::algo
