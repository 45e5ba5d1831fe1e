// What a store URL asks for about leases and failovers.
#pragma once

#include <herdlock/types.hpp>
#include <herdlock/url.hpp>

namespace herdlock::redis {

/// The replicas that a master can be asked to wait for.
inline constexpr int max_wait_replicas = 16;
inline constexpr milliseconds default_quarantine_ttl{60'000};

struct durability_settings {
  int replicas = 0;  ///< that must have a grant before it counts; 0: none
  milliseconds wait{0};
  /// How long a server that was not the master before grants nothing; 0: it is trusted at once.
  /// No lease may be longer.
  milliseconds quarantine{0};

  bool on() const { return replicas > 0 || quarantine > milliseconds{0}; }
};

/// Takes `wait_replicas`, `wait_timeout`, `quarantine` and `quarantine_ttl` out of the URL;
/// `timeout` is that of a command.
result<durability_settings> take_durability(store_url& url, milliseconds timeout);

}  // namespace herdlock::redis
