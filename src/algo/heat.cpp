#include "algo/heat.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

constexpr std::uint8_t most_calm_doublings = 6;
constexpr clock::duration calm_for_ever = clock::duration::min() / 2;

}  // namespace

void heat::make_hot(heat_limits const& limits) noexcept {
  bool const was_calm_for_long = calm_left_ < -next_calm(limits) / 2;
  if (was_calm_for_long) doublings_ = 0;
  hot_ = true;
  low_for_ = clock::duration(0);
}

void heat::take_over_hot(heat_limits const& limits) noexcept {
  make_hot(limits);
  low_for_ = limits.cool_time;
}

bool heat::look(heat_look seen, heat_times times, heat_limits const& limits) noexcept {
  // A key that was never hot is judged by its writes in the window alone: its first load is one.
  bool const was_calm = calm_left_ <= clock::duration(0);
  calm_left_ = std::max(calm_left_, calm_for_ever + times.took) - times.took;
  if (seen.written_too_often && !seen.hardly_read && (hot_ || !was_calm)) {
    calm_left_ = std::max(calm_left_, limits.cool_time);
  }
  if (!hot_) return false;
  low_for_ = seen.is_low() ? add_up(low_for_, times.low_for) : clock::duration(0);
  return seen.is_low() && low_for_ >= limits.cool_time && times.hot_for >= limits.min_hot_time;
}

void heat::cool(heat_look seen, heat_times times, heat_limits const& limits) noexcept {
  hot_ = false;
  bool const was_worth_it = times.hot_for - low_for_ > next_calm(limits) / 2;
  if (was_worth_it) doublings_ = 0;
  if (!seen.written_too_often || seen.hardly_read) return;  // it does not come and go by writes
  calm_left_ = next_calm(limits);
  doublings_ = std::min<std::uint8_t>(doublings_ + 1, most_calm_doublings);
}

clock::duration heat::next_calm(heat_limits const& limits) const noexcept {
  return limits.calm_time * (1 << doublings_);
}

}  // namespace herdlock::algo
