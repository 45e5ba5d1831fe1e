// What a store URL asks for about leases and failovers.
#pragma once

#include <herdlock/types.hpp>

#include "stores/common/url_options.hpp"

namespace herdlock::redis {

inline constexpr stores::url_option durability_options[] = {
    {"wait_replicas", stores::option_kind::count, "0", "0 to 16",
     "so many replicas must have a grant before it counts"},
    {"wait_timeout", stores::option_kind::duration, "half of timeout, at most 5s",
     "1ms to the default", "how long they are waited for; only with wait_replicas"},
    {"quarantine", stores::option_kind::choice, "off", "off, on",
     "a server that was not the master before grants nothing at first"},
    {"quarantine_ttl", stores::option_kind::duration, "1m", "10ms to 8760h",
     "for how long; no lease may be longer; only with quarantine=on"},
};

struct durability_settings {
  int replicas = 0;  ///< that must have a grant before it counts; 0: none
  milliseconds wait{0};
  /// How long a server that was not the master before grants nothing; 0: it is trusted at once.
  /// No lease may be longer.
  milliseconds quarantine{0};

  bool on() const { return replicas > 0 || quarantine > milliseconds{0}; }
};

}  // namespace herdlock::redis
