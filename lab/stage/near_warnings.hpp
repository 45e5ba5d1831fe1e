// What a store's server refuses to a near cache, as scenes say it.
#pragma once

#include <herdlock/open.hpp>

namespace herdlock::lab {

/// Throws herdlock::error (not_supported) where the server tells of no changes: known once a near
/// cache has asked for it.
inline void require_told_of_changes(store const& asked) {
  for (auto const& text : asked.warnings()) {
    if (text.find("near cache") == text.npos) continue;
    throw error(make_failure(
        errc::not_supported,
        "store " + asked.display_name() +
            ": the processes cannot keep its value: the server tells them of no changes; it has to "
            "be Redis 7.0 or newer, the user needs the rights +client|tracking and "
            "+client|caching, and a proxy in front of it has to know CLIENT TRACKING"));
  }
}

}  // namespace herdlock::lab
