#include "algo/store_clock.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

// Two clocks drift apart by so much at most: a part in ten thousand.
clock::duration drift(clock::duration over) { return over / 10'000; }

// A write that came so late is allowed for, where the ttl is four times that.
constexpr milliseconds late_write{1000};
// An entry of which this much more is left than when it was read has been refreshed.
constexpr milliseconds refreshed_by{50};

clock::duration distance(clock::duration a, clock::duration b) { return a > b ? a - b : b - a; }

}  // namespace

void store_clock::told(store_time said, clock::time_point sent, clock::time_point answered) {
  auto const error = (answered - sent) / 2;
  auto const middle = (sent + error).time_since_epoch();
  sample const now{clock::duration(said) - middle, error, answered};
  if (sample_) {
    auto const old_error = sample_->error + drift(answered - sample_->taken);
    // The better of two that can both be true. If they cannot, a clock was set: the new one.
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
  constexpr auto no_end = clock::time_point::max();
  bool const was_made = header.created != store_time{0};
  if (was_made && header.grace != milliseconds{0} && !clock_of_store.known()) {
    return {header.created, header.load_time, cannot_be_judged, cannot_be_judged};
  }
  if (!was_made || !clock_of_store.known()) {
    bool const stale = header.state == header_state::expired;
    auto const expires = stale ? clock::time_point::min() : no_end;
    return {header.created, header.load_time, expires, no_end};
  }
  auto const created = clock_of_store.here(header.created);
  // A length that no option allows would overflow the clock.
  auto const ttl = std::min(header.ttl, limits::max_ttl);
  auto const grace = std::min(header.grace, limits::max_ttl);
  auto const expires =
      header.state == header_state::expired ? clock::time_point::min() : created + ttl;
  return {header.created, header.load_time, expires, created + ttl + grace};
}

milliseconds refresh_below(entry_header const& header, entry_times const& times,
                           clock::time_point now) {
  auto const ttl = std::min(header.ttl, limits::max_ttl);
  auto const grace = std::min(header.grace, limits::max_ttl - ttl);
  auto const in_grace = grace + std::min(late_write, ttl / 4);
  bool const expired = header.state == header_state::expired;
  // The process that made it stale may have kept it for longer than its own grace.
  if (expired && times.ends == cannot_be_judged) return limits::max_ttl;
  if (!expired && now >= times.expires) return in_grace;
  // An entry that `expire` made stale may be kept for longer than its own grace.
  auto const measured = std::chrono::duration_cast<milliseconds>(times.ends - now);
  auto const left = std::clamp(measured, milliseconds{0}, ttl + grace);
  auto const below = left + std::clamp((ttl + grace - left) / 2, milliseconds{1}, refreshed_by);
  return std::min(expired ? std::max(below, in_grace) : below, limits::max_ttl);
}

}  // namespace herdlock::algo
