#include "cache/near/near_order.hpp"

#include <iterator>

namespace herdlock {
inline namespace v0 {
namespace detail {

void near_order::remove(near_record& record) noexcept {
  auto const at = records_.iterator_to(record);
  for (auto* const each : {&hand_, &broom_, &user_, &judge_}) {
    if (*each == at) step(*each);
  }
  records_.erase(at);
}

// The record that is there; `at` goes on towards the newest.
near_record& near_order::step(list::iterator& at) noexcept {
  if (at == records_.end()) at = std::prev(at);
  near_record& here = *at;
  at = at == records_.begin() ? records_.end() : std::prev(at);
  return here;
}

near_record& near_order::victim(clock::time_point now) noexcept {
  for (std::size_t looks = 0; looks < most_looks; ++looks) {
    near_record& one = step(hand_);
    if (one.gone(now)) return one;
    if (!one.is_needed() && !one.take_visit()) return one;
  }
  return step(hand_);
}

template <class Condition>
near_record* near_order::next_that(list::iterator& at, std::size_t& looks,
                                   Condition holds) noexcept {
  while (looks != 0 && !records_.empty()) {
    --looks;
    near_record& one = step(at);
    if (holds(one)) return &one;
  }
  return nullptr;
}

near_record* near_order::next_gone(clock::time_point now, std::size_t& looks) noexcept {
  return next_that(broom_, looks, [now](near_record& one) { return one.gone(now); });
}

near_record* near_order::next_used(clock::time_point now, std::size_t& looks) noexcept {
  return next_that(user_, looks,
                   [now](near_record& one) { return !one.gone(now) && one.take_use(); });
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
