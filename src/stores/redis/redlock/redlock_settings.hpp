// What a `redlock://` URL says.
#pragma once

#include <string>
#include <vector>

#include "stores/redis/settings.hpp"

namespace herdlock::redis {

inline constexpr stores::url_option redlock_options[] = {
    {"node_timeout", stores::option_kind::duration, "200ms", "5ms to timeout",
     "how long an operation waits for a node before it decides without it, at most"},
    {"restart_delay", stores::option_kind::duration, "1m", "0 to 8760h",
     "a node that was started less than so long ago grants nothing; no ttl may be longer"},
    {"tls", stores::option_kind::choice, "off", "off, on",
     "TLS to each node; cafile, cert, key and verify need it"},
};

struct redlock_settings {
  std::string display_name;     ///< the URL without its password
  std::vector<settings> nodes;  ///< they differ in host and port only
  milliseconds timeout{2000};
  /// How long an operation waits for a node before it decides without it, at most.
  milliseconds node_timeout{200};
  /// A node that was started less than so long ago grants nothing, and no ttl may be longer: what
  /// it may have forgotten has then ended. 0: off.
  milliseconds restart_delay{60'000};
};

inline constexpr std::size_t min_redlock_nodes = 3;

/// errc::invalid_url for anything that is not understood.
result<redlock_settings> parse_redlock_settings(store_url url);

}  // namespace herdlock::redis
