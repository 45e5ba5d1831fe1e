// From when on a node may vote: a server that was started lately, or that has taken another's
// place, may have forgotten leases that are held.
// Why: docs/stores/redlock.md#a-restarted-node-grants-nothing
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock::redis {

/// Pure: it gets the time, of a steady clock. No ttl is longer than the delay, so what a server has
/// granted is over when the delay has passed since its last grant:
///   - a server that was started has granted nothing since;
///   - another server behind the same name (another run_id) knows nothing of what the former one
///     granted, and our loss of that one says nothing of others, whom it may have gone on to serve.
///     So the whole delay begins when we meet the other one. If that one was itself started within
///     the delay, it is taken for the former one's next start, and the delay counts from there; but
///     not from before our connection was lost, as the former one still ran.
/// A delay that was begun is never shortened: to meet the same server again proves nothing new, and
/// one that was started since has the later end anyway.
class voting_delay {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  struct server {
    std::string run_id;  ///< empty: it does not say
    std::chrono::seconds runs_for{0};
  };

  /// `node` is what messages call it.
  void begin(milliseconds delay, std::string node) {
    delay_ = delay;
    node_ = std::move(node);
  }
  /// A connection leads to this server now.
  void met(server const& found, time_point now);
  /// The connection was lost. To be told again changes nothing.
  void lost(time_point now) {
    if (!lost_at_) lost_at_ = now;
  }
  /// Why it grants nothing yet; null when it may vote.
  failure const* refusal(time_point now) const {
    return why_.code && now < votes_from_ ? &why_ : nullptr;
  }

 private:
  void refuse_until_then(time_point now);

  milliseconds delay_{0};
  std::string node_;
  std::string run_id_;
  std::optional<time_point> lost_at_;
  time_point votes_from_ = time_point::min();
  std::string since_;  // what began the delay that ends then
  failure why_;
};

}  // namespace herdlock::redis
