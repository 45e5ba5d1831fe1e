#include "runtime/lease_counters.hpp"

namespace herdlock::runtime {

void lease_counters::granted(lease_event const& what, from whom, clock::duration waited) {
  add(acquired_);
  add(held_);
  if (whom == from::another) add(acquired_from_another_);
  wait_time_.note(waited);
  tell(what);
}

void lease_counters::ended(lease_event const& what, clock::duration held) {
  take(held_);
  hold_time_.note(held);
  count(what);
}

void lease_counters::count(lease_event const& what) {
  add(of(what.kind));
  tell(what);
}

lease_counters::number& lease_counters::of(lease_event_kind kind) {
  switch (kind) {
    case lease_event_kind::acquired:
      return acquired_;
    case lease_event_kind::busy:
      return busy_;
    case lease_event_kind::failed:
      return failed_;
    case lease_event_kind::canceled:
      return canceled_;
    case lease_event_kind::renew_failed:
      return renew_failed_;
    case lease_event_kind::lost:
      return lost_;
    case lease_event_kind::released:
      break;
  }
  return released_;
}

store_metrics lease_counters::read(std::string const& store) const {
  store_metrics copy;
  copy.store = store;
  copy.acquired = value(acquired_);
  copy.acquired_from_another = value(acquired_from_another_);
  copy.busy = value(busy_);
  copy.failed = value(failed_);
  copy.canceled = value(canceled_);
  copy.renewed = value(renewed_);
  copy.renew_failed = value(renew_failed_);
  copy.lost = value(lost_);
  copy.released = value(released_);
  // A grant that is over before it is handed out is counted as ended first.
  auto const held = value(held_);
  copy.held = held > std::uint64_t{1} << 63 ? 0 : held;
  copy.waiting = value(waiting_);
  copy.wait_time = wait_time_.read();
  copy.hold_time = hold_time_.read();
  return copy;
}

}  // namespace herdlock::runtime

namespace herdlock {
inline namespace v0 {

std::string_view to_string(lease_event_kind kind) noexcept {
  constexpr std::array<std::string_view, 7> names{"acquired",     "busy", "failed",  "canceled",
                                                  "renew_failed", "lost", "released"};
  return names.at(static_cast<std::size_t>(kind));
}

}  // namespace v0
}  // namespace herdlock
