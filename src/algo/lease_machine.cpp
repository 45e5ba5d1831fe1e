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

clock::duration loss_lead(milliseconds validity) {
  clock::duration const least =
      std::min<clock::duration>(milliseconds{5}, clock::duration(validity) / 10);
  return std::clamp<clock::duration>(clock::duration(validity) / 100, least, milliseconds{100});
}

clock::duration new_connection_window(milliseconds shortest_ttl) {
  return std::min(shortest_ttl / 10, milliseconds{1000});
}

lease_machine::lease_machine(lease_limits limits, lease_validity first, double random)
    : limits_(limits),
      validity_(first.ttl),
      granted_(first.since),
      sent_(first.since),
      valid_until_(proved_until(first.since, first.ttl)) {
  plan_renewal(random);
}

// A third of the validity, ± 10 %: two more tries fit before the end, and leases that were taken
// together are not renewed together for ever. But those of a process that fall due within the same
// 300th of it are: they travel in one write then.
void lease_machine::plan_renewal(double random) {
  clock::duration const tick = std::max(clock::duration(validity_) / 300, clock::duration{1});
  auto const due = (sent_ + scaled(validity_, (0.9 + 0.2 * random) / 3)).time_since_epoch();
  renew_at_ = clock::time_point((due + tick - clock::duration{1}) / tick * tick);
  failures_ = 0;
  hasten_renewal();
}

void lease_machine::hasten_renewal() {
  if (renew_by_) renew_at_ = std::min(renew_at_, *renew_by_);
}

clock::time_point lease_machine::loss_at() const {
  return valid_until_ - std::max<clock::duration>(limits_.loss_margin, loss_lead(validity_));
}

bool lease_machine::may_renew(clock::time_point at) const {
  return limits_.renews && !held_too_long(at);
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
    bool const gave_up = limits_.renews && !may_renew(loss_at());
    return lose(gave_up ? loss::held_too_long : loss::expired);
  }
  if (state_ == lease_state::renewing || !may_renew(renew_at_)) {
    return {lease_action::kind::wait, loss_at()};
  }
  if (now < renew_at_) return {lease_action::kind::wait, std::min(renew_at_, loss_at())};
  return send(now);
}

lease_action lease_machine::send(clock::time_point now) {
  state_ = lease_state::renewing;
  sent_ = now;
  if (renew_by_ && !next_look_in_) next_look_in_ = new_connection_window(validity_);
  renew_by_.reset();
  return {lease_action::kind::renew, loss_at()};
}

lease_action lease_machine::tick(clock::time_point now) {
  if (over()) return {};
  return next(now);
}

lease_action lease_machine::renew_now(clock::time_point now) {
  if (over()) return {};
  if (now >= loss_at() || state_ == lease_state::renewing || held_too_long(now)) return next(now);
  return send(now);
}

lease_action lease_machine::renew_by(clock::time_point at) {
  if (over()) return {};
  renew_by_ = std::min(at, renew_by_.value_or(at));
  hasten_renewal();
  bool const planned = state_ == lease_state::held && may_renew(renew_at_);
  return {lease_action::kind::wait, planned ? std::min(renew_at_, loss_at()) : loss_at()};
}

bool lease_machine::held_too_long(clock::time_point now) const {
  return limits_.max_hold && now >= granted_ + *limits_.max_hold;
}

lease_action lease_machine::renewed(clock::time_point now, double random) {
  if (over()) return {};
  if (now >= loss_at()) return lose(loss::expired);
  state_ = lease_state::held;
  validity_ = limits_.ttl;
  valid_until_ = std::max(valid_until_, proved_until(sent_, validity_));
  next_look_in_.reset();
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
  // The pause goes from a 96th of the validity to a third, so that a store that comes back is asked
  // several times in what is left of it, however short that is.
  clock::duration pause = validity_ * (1 << std::min(failures_++, max_backoff_doublings)) / 96;
  // The server that answers may not be ready yet, and may have forgotten.
  if (next_look_in_) {
    pause = std::min(pause, *next_look_in_);
    next_look_in_ = std::min<clock::duration>(*next_look_in_ * 2, validity_);
  }
  renew_at_ = now + scaled(pause, 0.5 + random);
  hasten_renewal();
  return next(now);
}

lease_action lease_machine::release(clock::time_point now) {
  if (over()) return {};
  if (now >= loss_at()) return lose(loss::expired);
  state_ = lease_state::released;
  return {};
}

}  // namespace herdlock::algo
