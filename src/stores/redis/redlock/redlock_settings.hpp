// What a `redlock://` URL says.
#pragma once

#include <string>
#include <vector>

#include "stores/redis/settings.hpp"

namespace herdlock::redis {

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
