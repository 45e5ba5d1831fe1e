#include "algo/lease_machine.hpp"

#include <algorithm>

namespace herdlock::algo {
namespace {

constexpr int max_backoff_doublings = 5;

clock::duration scaled(clock::duration d, double factor) {
  return std::chrono::duration_cast<clock::duration>(d * factor);
}

}  // namespace

clock::time_point proved_until(clock::time_point sent, milliseconds ttl) {
  return sent + ttl - ttl / 100 - milliseconds{2};
}

lease_machine::lease_machine(lease_terms terms, clock::time_point sent, double random)
    : terms_(terms), granted_(sent), sent_(sent), valid_until_(proved_until(sent, terms.ttl)) {
  plan_renewal(random);
}

// A third of the ttl, ± 10 %: two more tries fit before the end, and leases that were taken
// together are not renewed together for ever.
void lease_machine::plan_renewal(double random) {
  renew_at_ = sent_ + scaled(terms_.ttl, (0.9 + 0.2 * random) / 3);
  failures_ = 0;
}

bool lease_machine::may_renew(clock::time_point at) const {
  return terms_.renews && (!terms_.max_hold || at < granted_ + *terms_.max_hold);
}

lease_action lease_machine::lose(loss why) {
  state_ = lease_state::lost;
  why_ = why;
  return {lease_action::kind::lose, {}};
}

lease_action lease_machine::next(clock::time_point now) {
  // The end comes first: a process that was stopped past it must not take a renewal that was
  // answered meanwhile for a proof, since its own valid() has already said no (B4, B17).
  if (now >= loss_at()) {
    bool const gave_up = terms_.renews && !may_renew(loss_at());
    return lose(gave_up ? loss::held_too_long : loss::expired);
  }
  if (state_ == lease_state::renewing || !may_renew(renew_at_)) {
    return {lease_action::kind::wait, loss_at()};
  }
  if (now < renew_at_) return {lease_action::kind::wait, std::min(renew_at_, loss_at())};
  state_ = lease_state::renewing;
  sent_ = now;
  return {lease_action::kind::renew, loss_at()};
}

lease_action lease_machine::tick(clock::time_point now) {
  if (over()) return {};
  return next(now);
}

lease_action lease_machine::renewed(clock::time_point now, double random) {
  if (over()) return {};
  if (now >= loss_at()) return lose(loss::expired);
  state_ = lease_state::held;
  valid_until_ = std::max(valid_until_, proved_until(sent_, terms_.ttl));
  plan_renewal(random);
  return next(now);
}

lease_action lease_machine::told_lost() {
  if (over()) return {};
  return lose(loss::told);
}

lease_action lease_machine::renew_failed(clock::time_point now, double random) {
  if (over()) return {};
  state_ = lease_state::held;
  // From ttl/96 up to ttl/3, so that a store that comes back is asked several times in what is
  // left of the ttl, however short that is.
  auto pause = terms_.ttl * (1 << std::min(failures_++, max_backoff_doublings)) / 96;
  renew_at_ = now + scaled(pause, 0.5 + random);
  return next(now);
}

lease_action lease_machine::release(clock::time_point now) {
  if (over()) return {};
  if (now >= loss_at()) return lose(loss::expired);
  state_ = lease_state::released;
  return {};
}

}  // namespace herdlock::algo
