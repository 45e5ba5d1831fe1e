// The lease, as a state machine: when to renew, until when the right is proved, when it is lost.
//
//            tick at renew_at            renewed
//   held ─────────────────────▶ renewing ────────▶ held
//    │ ▲                           │ │
//    │ └──────── failed ───────────┘ │ lost (the store says so)
//    │ tick at loss_at               │ tick at loss_at
//    ▼                               ▼
//   lost ◀───────────────────────── lost            release, from any state ▶ released
//
// The first validity may be shorter than the ttl: a grant that was pushed to a waiter is for a
// heartbeat until it is renewed for the first time.
//
// Pure: no clock, no random source, no store. Time only moves forward through the arguments.
#pragma once

#include <optional>

#include <herdlock/types.hpp>

namespace herdlock::algo {

/// The end of what a grant that was sent for at `sent` proves: the ttl less 1 % + 2 ms, for clocks
/// that run at different speeds (the margin of the Redlock description).
clock::time_point proved_until(clock::time_point sent, milliseconds ttl);

/// How long before the end the loss is signalled at the latest, since the signal takes time, too: 1
/// % of the validity, between 5 ms and 100 ms; a tenth of one of less than 50 ms.
clock::duration loss_lead(milliseconds validity);

/// When a store has a new connection, its leases are renewed within so long: another server may
/// answer there, or one that has forgotten. A tenth of the shortest ttl, at most 1 s.
clock::duration new_connection_window(milliseconds shortest_ttl);

/// The time that a grant proves: `ttl` from `since` on.
struct lease_validity {
  clock::time_point since;
  milliseconds ttl;
};

enum class lease_state { held, renewing, lost, released };

/// Why a lease was lost.
enum class loss { none, told, expired, held_too_long };

struct lease_limits {
  milliseconds ttl;
  milliseconds loss_margin{0};  ///< the signal comes so long before valid_until, or loss_lead
  std::optional<milliseconds> max_hold{};  ///< no renewal after so long
  bool renews = true;
};

/// The action that the driver takes now.
struct lease_action {
  enum class kind {
    wait,   ///< call tick() at `at`
    renew,  ///< send a renewal now; call tick() at `at` whatever becomes of it
    lose,   ///< signal the loss, stop the timer
    none,   ///< nothing, ever again
  };
  kind what = kind::none;
  clock::time_point at{};
};

class lease_machine {
 public:
  /// `first` begins with the time read before the request that was granted. `random` in [0, 1).
  lease_machine(lease_limits limits, lease_validity first, double random);

  /// The timer fired, or the driver wants to know what to wait for.
  lease_action tick(clock::time_point now);
  /// The holder wants a renewal now, also where none is planned; `wait` when one is under way.
  lease_action renew_now(clock::time_point now);
  /// The next renewal, if there will be one, is due at `at` at the latest. A renewal under way does
  /// not count for it: it may have been sent to the server before. A renewal without an answer is
  /// repeated soon: within the window of a new connection, then twice that, and so on. Never
  /// `renew` or `lose`: these come with the next tick.
  lease_action renew_by(clock::time_point at);
  /// The renewal was answered: still ours.
  lease_action renewed(clock::time_point now, double random);
  /// The renewal was answered: not ours.
  lease_action told_lost();
  /// The renewal had no answer (error, timeout): its outcome is unknown.
  lease_action renew_failed(clock::time_point now, double random);
  /// The holder gives up; `lose` when the time was over already. Later events do nothing (B3: no
  /// renewal after a release).
  lease_action release(clock::time_point now);

  lease_state state() const { return state_; }
  loss why() const { return why_; }
  /// No renewal is allowed any more.
  bool held_too_long(clock::time_point now) const;
  clock::time_point valid_until() const { return valid_until_; }

 private:
  lease_action next(clock::time_point now);
  lease_action lose(loss why);
  bool over() const { return state_ == lease_state::lost || state_ == lease_state::released; }
  clock::time_point loss_at() const;
  bool may_renew(clock::time_point at) const;
  void plan_renewal(double random);
  void hasten_renewal();
  lease_action send(clock::time_point now);

  lease_limits limits_;
  milliseconds validity_;  // the present one's length
  lease_state state_ = lease_state::held;
  loss why_ = loss::none;
  clock::time_point granted_;
  clock::time_point sent_;
  clock::time_point valid_until_;
  clock::time_point renew_at_;
  std::optional<clock::time_point> renew_by_;    // until a renewal has been sent
  std::optional<clock::duration> next_look_in_;  // once that has failed: until one is answered
  int failures_ = 0;
};

}  // namespace herdlock::algo
