// Which servers a survey asks: the one of the URL, the one that Sentinel names, or all masters of a
// cluster.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "stores/redis/cluster/cluster_map.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

struct surveyed_servers {
  std::vector<settings> masters;   ///< at least one
  std::optional<cluster_map> map;  ///< of a cluster

  /// Which of the masters has the key; nothing for one in a slot that nobody serves.
  std::optional<std::size_t> home_of(std::string_view key) const;
};

/// Blocks while sentinels are asked.
result<surveyed_servers> find_servers(settings how);
/// Blocks until a node has answered with a sound map (map_ranking.hpp), or all were asked: the
/// seeds, and four more that their doubtful maps name. There is no map in use whose epoch the first
/// one could be compared with.
result<surveyed_servers> find_cluster_servers(settings const& how,
                                              std::vector<node_address> const& seeds);

}  // namespace herdlock::redis
