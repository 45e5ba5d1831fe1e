#include "algo/hot_key_state.hpp"

namespace herdlock::algo {
namespace {

constexpr int halves_to_cool = 3;

heat_limits limits_of(hot_thresholds const& thresholds) noexcept {
  return {.threshold = thresholds.threshold,
          .reads_per_write = thresholds.reads_per_write,
          .cool_time = thresholds.half * halves_to_cool,
          .calm_time = thresholds.half * halves_to_cool,
          .min_hot_time = thresholds.min_hot_time};
}

double seconds_of(clock::duration time) noexcept {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

void hot_key_state::used(hot_uses uses, clock::duration took,
                         hot_thresholds const& thresholds) noexcept {
  live_.uses += uses;
  live_.timed_reads = add_up(live_.timed_reads, uses.reads);
  if (hot()) hot_for_ = add_up(hot_for_, took);
  // One that was far ahead once is judged anew.
  if (run_.took >= thresholds.half) run_ = {};
  run_.reads = add_up(run_.reads, uses.reads);
  run_.took = add_up(run_.took, took);
  auto const limits = limits_of(thresholds);
  if (!limits.is_read_enough(double(run_.reads), seconds_of(run_.took), 1)) run_ = {};
}

void hot_key_state::used_at_times_unknown(hot_uses uses) noexcept {
  live_.uses += uses;
  run_ = {};
}

bool hot_key_state::deserves(hot_thresholds const& thresholds) const noexcept {
  bool const often = run_.took > clock::duration(0) && run_.reads >= thresholds.min_reads;
  return often && heat_.may_be_hot() && !limits_of(thresholds).is_written_too_often(in_window(), 1);
}

void hot_key_state::make_hot(hot_thresholds const& thresholds) noexcept {
  heat_.make_hot(limits_of(thresholds));
  run_ = {};
  hot_for_ = clock::duration(0);
}

bool hot_key_state::end_half(clock::duration took, hot_thresholds const& thresholds) noexcept {
  auto const limits = limits_of(thresholds);
  heat_look const seen{
      .hardly_read = !limits.is_read_enough(double(live_.timed_reads), seconds_of(took), 0.5),
      .written_too_often = limits.is_written_too_often(live_.uses, 0.5)};
  heat_times const times{.took = took, .low_for = took, .hot_for = hot_for_};
  previous_ = live_;
  live_ = {};
  if (!heat_.look(seen, times, limits)) return false;
  heat_.cool(seen, times, limits);
  return true;
}

}  // namespace herdlock::algo
