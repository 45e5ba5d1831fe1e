#include "algo/look_schedule.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

clock::duration part_of(milliseconds span, double part) {
  auto const all = static_cast<double>(clock::duration(span).count());
  return clock::duration(static_cast<clock::duration::rep>(all * part));
}

}  // namespace

void look_schedule::subscribed(clock::time_point now, double part) noexcept {
  if (listens_) return;
  listens_ = true;
  heard_.reset();
  due_ = now + part_of(subscribed_before_ ? retry_ : first_, part);
  subscribed_before_ = true;
}

void look_schedule::lost() noexcept {
  // The store may have been too slow for it, and would be again.
  if (under_way_) retry_ = std::min(2 * retry_, longest_retry);
  listens_ = under_way_ = false;
  due_.reset();
}

void look_schedule::heard(std::uint64_t number, clock::time_point now, double part) noexcept {
  bool const missed = heard_ && number != *heard_ + 1;
  heard_ = number;
  // A look that is under way, or due, tells of that, too.
  if (!missed || !listens_ || due_ || under_way_) return;
  due_ = std::max(now, quiet_until_) + part_of(longest_pause, part);
}

void look_schedule::sent(clock::time_point now) noexcept {
  due_.reset();
  under_way_ = true;
  quiet_until_ = now + least_between_looks;
}

void look_schedule::answered(outcome how, clock::time_point now, double part) noexcept {
  if (!under_way_) return;  // it was sent before a loss
  under_way_ = false;
  if (how == outcome::done) {
    retry_ = first_retry;
    return;
  }
  due_ = now + retry_ / 2 + part_of(retry_ / 2, part);
  retry_ = std::min(2 * retry_, longest_retry);
}

}  // namespace herdlock::algo
