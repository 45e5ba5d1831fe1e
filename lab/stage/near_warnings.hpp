// What a store's server refuses to a near cache, as scenes say it.
#pragma once

#include <algorithm>
#include <herdlock/open.hpp>
#include <string>

namespace herdlock::lab {

inline constexpr auto told_of_no_changes =
    "the server tells them of no changes; it has to be Redis 7.0 or newer, the user needs the "
    "rights +client|tracking and +client|caching, and a proxy in front of it has to know "
    "CLIENT TRACKING";

/// Known once a near cache has asked for it.
inline bool is_told_of_no_changes(store const& asked) {
  auto const all = asked.warnings();
  return std::any_of(all.begin(), all.end(), [](std::string const& text) {
    return text.find("near cache") != std::string::npos;
  });
}

}  // namespace herdlock::lab
