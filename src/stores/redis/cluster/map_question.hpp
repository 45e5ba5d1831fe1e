// What one node is asked about its cluster, in one write: how it sees it, and who serves what.
#pragma once

#include <functional>

#include "stores/redis/client/command.hpp"
#include "stores/redis/cluster/cluster_map.hpp"
#include "stores/redis/cluster/map_ranking.hpp"

namespace herdlock::redis {

struct map_answer {
  cluster_map map;
  node_view view;
  std::string hidden{};  ///< what the node says if the user may not see its view
};

/// Both answers belong to the same moment of the same node. `done` is called exactly once, never
/// from inside submit(); its failure names the store and the node.
command_ptr make_map_question(connection const& at, node_address asked,
                              std::function<void(result<map_answer>)> done);

}  // namespace herdlock::redis
