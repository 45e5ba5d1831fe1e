#include "algo/store_clock.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

// Two clocks drift apart by so much at most: a part in ten thousand.
clock::duration drift(clock::duration over) { return over / 10'000; }

clock::duration distance(clock::duration a, clock::duration b) { return a > b ? a - b : b - a; }

}  // namespace

void store_clock::told(store_time said, clock::time_point sent, clock::time_point answered) {
  auto const error = (answered - sent) / 2;
  auto const middle = (sent + error).time_since_epoch();
  sample const now{clock::duration(said) - middle, error, answered};
  if (sample_) {
    auto const old_error = sample_->error + drift(answered - sample_->taken);
    // The better of two that can both be true. Where they cannot, a clock was set: the new one.
    bool const agree = distance(sample_->ahead, now.ahead) <= old_error + error;
    if (agree && old_error <= error) {
      sample_->error = old_error;
      sample_->taken = answered;
      return;
    }
  }
  sample_ = now;
}

clock::time_point store_clock::due() const noexcept {
  return sample_ ? sample_->taken + ask_each : clock::time_point::min();
}

clock::time_point store_clock::here(store_time there) const {
  return clock::time_point(clock::duration(there) - sample_->ahead);
}

store_time store_clock::there(clock::time_point here) const {
  return std::chrono::duration_cast<store_time>(here.time_since_epoch() + sample_->ahead);
}

entry_times times_of(entry_header const& header, store_clock const& clock_of_store) {
  constexpr auto never = clock::time_point::max();
  if (header.created == store_time{0} || !clock_of_store.known()) {
    bool const stale = header.state == header_state::expired;
    auto const expires = stale ? clock::time_point::min() : never;
    return {clock::time_point::min(), header.load_time, expires, never};
  }
  auto const created = clock_of_store.here(header.created);
  // A length that no option allows would overflow the clock.
  auto const ttl = std::min(header.ttl, limits::max_ttl);
  auto const grace = std::min(header.grace, limits::max_ttl);
  auto const expires =
      header.state == header_state::expired ? clock::time_point::min() : created + ttl;
  return {created, header.load_time, expires, created + ttl + grace};
}

}  // namespace herdlock::algo
