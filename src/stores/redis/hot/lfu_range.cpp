#include "stores/redis/hot/lfu_range.hpp"

#include <algorithm>
#include <cmath>

namespace herdlock::redis {
namespace {

constexpr int first_counter = 5, last_counter = 255;

// For one step up from there, as expected.
double uses_for_a_step(int counter, int log_factor) {
  return double(std::max(counter - first_counter, 0)) * log_factor + 1;
}

}  // namespace

lfu_range lfu_range_of(int counter, int log_factor, int decay_minutes) noexcept {
  if (decay_minutes <= 0 || log_factor < 0) return {};
  counter = std::clamp(counter, 0, last_counter);
  double const interval = 60.0 * decay_minutes;
  double all = 0;
  for (int at = first_counter; at < counter; ++at) all += uses_for_a_step(at, log_factor);
  lfu_range range;
  // A new key has 5 without any use.
  if (counter > first_counter) range.low = uses_for_a_step(counter - 1, log_factor) / interval;
  double const at_once = std::max(all, 1.0) / interval;
  range.likely = range.low > 0 ? std::sqrt(range.low * at_once) : at_once;
  if (counter < last_counter) range.high = at_once;
  return range;
}

}  // namespace herdlock::redis
