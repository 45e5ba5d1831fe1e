#include "algo/connection_trust.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::algo {

std::uint64_t connection_trust::ping(clock::time_point now) {
  pings_.push_back({++last_number_, now});
  last_sent_ = now;
  soon_.reset();
  return last_number_;
}

bool connection_trust::pong(std::uint64_t number, std::uint64_t pushes_before) {
  auto const at = std::find_if(pings_.begin(), pings_.end(),
                               [&](sent_ping const& one) { return one.number == number; });
  if (at == pings_.end()) return false;
  at->pushes_before = pushes_before;
  return believe();
}

bool connection_trust::push_handled() {
  ++pushes_handled_;
  return believe();
}

void connection_trust::refused(std::uint64_t number, clock::time_point now) {
  std::erase_if(pings_, [&](sent_ping const& one) { return one.number <= number; });
  until_ = std::min(until_, now);
  if (!std::exchange(refused_last_, true)) soon_ = now + pause_of_refusal;
}

// Answers come in the order of the PINGs: a later one is worth all before it.
bool connection_trust::believe() {
  auto const last = std::find_if(pings_.rbegin(), pings_.rend(), [&](sent_ping const& one) {
    return one.pushes_before && *one.pushes_before <= pushes_handled_;
  });
  if (last == pings_.rend()) return false;
  believed_ = last->number;
  refused_last_ = false;
  until_ = std::max(until_, last->sent + max_staleness_);
  pings_.erase(pings_.begin(), last.base());
  return true;
}

}  // namespace herdlock::algo
