// Which names neither an entry nor a lock has, since stores with one keyspace keep something else
// there.
#pragma once

#include <string_view>

#include <herdlock/types.hpp>

namespace herdlock::runtime {

/// The resource of the election of a store's collector of hot keys (cache/fleet/collector.hpp).
inline constexpr std::string_view collector_name = "{herdlock}:herdlock:collector";

/// A lease of the library's own may have a side name. No counter, event or list shows it, and it
/// keeps no store open.
enum class lease_of { user, library };

/// Everything that belongs to K is kept under `{K}:herdlock:ROLE`, or `K::herdlock:ROLE` when K has
/// a hash tag (stores/redis/keys.hpp): claims, errors, counters, queues. A name that a visitor
/// chooses must not reach them, whatever the prefix. `what`: how the error calls the name.
inline failure check_no_side_name(std::string_view what, std::string_view name) {
  bool const is_side =
      name.find("}:herdlock:") != name.npos || name.find("::herdlock:") != name.npos;
  if (!is_side) return {};
  return make_failure(
      errc::invalid_name,
      std::string(what) + " " + in_quotes(name) +
          " is of the kind that herdlock keeps beside other keys ({key}:herdlock:*)");
}

}  // namespace herdlock::runtime
