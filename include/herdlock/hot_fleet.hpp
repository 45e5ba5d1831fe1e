// The keys of a fleet as all its processes together know them: see hot_options::fleet_threshold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// A key as all processes together read it; in uses a second.
struct fleet_hot_key {
  std::string key;
  std::uint64_t low = 0;   ///< reads, at least
  std::uint64_t high = 0;  ///< reads, at most
  std::uint64_t writes = 0;
  std::size_t processes = 0;  ///< those that read it often
  bool hot = false;           ///< for all of them
};

/// Counts since the cache was made, unless said otherwise.
struct hot_fleet_stats {
  std::size_t processes = 0;  ///< those that have reported lately, as far as this one knows; now
  std::size_t hot = 0;        ///< keys that are hot for all; now
  std::uint64_t reported = 0;
  std::uint64_t report_errors = 0;  ///< the store did not take them
  std::uint64_t heard = 0;          ///< reports, over Redis lists, that said something new
  std::uint64_t heard_again = 0;    ///< late, or doubled
  std::uint64_t refused = 0;        ///< malformed, cut, or not to be believed
};

}  // namespace v0
}  // namespace herdlock
