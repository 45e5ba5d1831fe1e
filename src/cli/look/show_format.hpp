// How `herdlock show` tells of a resource.
#pragma once

#include <herdlock/backend.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace herdlock::cli {

using sighting = std::pair<resource, lease_info>;

nlohmann::ordered_json as_json(resource const& name, std::optional<lease_info> const& seen);
/// A line, and one more for each who waits.
std::string as_text(resource const& name, std::optional<lease_info> const& seen);
/// A line for each, with a head.
std::string as_table(std::vector<sighting> const& all);
/// Labels and names may hold any byte.
std::string dumped(nlohmann::ordered_json const& what);

}  // namespace herdlock::cli
