#include "algo/hot_key_state.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

constexpr int halves_to_cool = 3;
constexpr std::uint8_t most_calm_doublings = 6;

double reads_in(clock::duration time, double rate) noexcept {
  return rate * std::chrono::duration<double>(time).count();
}

bool written_too_often(hot_uses uses, double reads_per_write) noexcept {
  return double(uses.reads) < double(uses.writes) * reads_per_write;
}

}  // namespace

void hot_key_state::used(hot_uses uses, clock::duration took,
                         hot_thresholds const& thresholds) noexcept {
  live_.uses += uses;
  live_.timed_reads = add_up(live_.timed_reads, uses.reads);
  if (hot_) hot_for_ = add_up(hot_for_, took);
  // A key that was far ahead once is judged anew.
  if (run_.took >= thresholds.half) run_ = {};
  run_.reads = add_up(run_.reads, uses.reads);
  run_.took = add_up(run_.took, took);
  if (double(run_.reads) < reads_in(run_.took, thresholds.threshold)) run_ = {};
}

void hot_key_state::used_at_times_unknown(hot_uses uses) noexcept {
  live_.uses += uses;
  run_ = {};
}

bool hot_key_state::deserves(hot_thresholds const& thresholds) const noexcept {
  bool const often = run_.took > clock::duration(0) && run_.reads >= thresholds.min_reads;
  return !hot_ && often && calm_after_ == clock::duration(0) &&
         !written_too_often(in_window(), thresholds.reads_per_write);
}

void hot_key_state::make_hot() noexcept {
  hot_ = true;
  run_ = {};
  hot_for_ = cool_for_ = clock::duration(0);
}

bool hot_key_state::end_half(clock::duration took, hot_thresholds const& thresholds) noexcept {
  bool const written = written_too_often(live_.uses, thresholds.reads_per_write / 2);
  bool const hardly_read = double(live_.timed_reads) < reads_in(took, thresholds.threshold / 2);
  previous_ = live_;
  live_ = {};
  // Writes of a key that was never hot count in the window alone: its first load is a write.
  bool const was_calm = calm_after_ == clock::duration(0);
  calm_after_ = std::max(calm_after_ - took, clock::duration(0));
  if (written && (hot_ || !was_calm)) {
    calm_after_ = std::max(calm_after_, thresholds.half * halves_to_cool);
  }
  if (!hot_) return false;
  cool_for_ = written || hardly_read ? add_up(cool_for_, took) : clock::duration(0);
  bool const cooled =
      cool_for_ >= thresholds.half * halves_to_cool && hot_for_ >= thresholds.min_hot_time;
  if (!cooled) return false;
  hot_ = false;
  bool const was_worth_it = hot_for_ - cool_for_ > next_calm(thresholds) / 2;
  if (was_worth_it) doublings_ = 0;
  if (!written || hardly_read) return true;  // what is hardly read does not come and go
  calm_after_ = next_calm(thresholds);
  doublings_ = std::min<std::uint8_t>(doublings_ + 1, most_calm_doublings);
  return true;
}

clock::duration hot_key_state::next_calm(hot_thresholds const& thresholds) const noexcept {
  return thresholds.half * (halves_to_cool << doublings_);
}

}  // namespace herdlock::algo
