// Which of the maps that a cluster's nodes give counts, and which node is asked before which.
//
// A node that was cut off from the others goes on answering, with the map of before. It shows in
// CLUSTER INFO: its state is `fail`, as it sees no majority, and its epoch stays behind, as each
// failover raises the one of those who hear of it. A map is
//
//   sound     the node is not in `fail`, and its epoch is at least that of the map in use, or it
//             does not say: it counts at once
//   doubtful  anything else: the next node is asked; when all were asked the best one counts. It is
//             better not to be in `fail`, then to have the larger epoch.
//
// So a whole cluster in `fail`, or one that was rebuilt with smaller epochs, is followed, too. An
// equal epoch is sound: not each move of a slot raises it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "stores/common/url_options.hpp"

namespace herdlock::redis {

/// How a node sees its cluster; nothing: it did not say.
struct node_view {
  std::optional<bool> ok;              ///< not `fail`
  std::optional<std::uint64_t> epoch;  ///< the largest that it has heard of
};

/// From the reply to CLUSTER INFO. What is not there, or cannot be read, is nothing.
node_view read_cluster_info(std::string_view text);

enum class map_worth {
  counts,  ///< at once
  best,    ///< of the doubtful ones of this search so far
  worse,   ///< than one of this search
};

/// Pure. A suspect is a node that said CLUSTERDOWN, did not answer, or gave a map that did not
/// count at once; it is one until it gives a sound map.
class map_ranking {
 public:
  using node_address = stores::server_address;

  /// A search begins that will ask these; other suspects are forgotten.
  void begin_search(std::vector<node_address> const& nodes);
  map_worth rank(node_address const& from, node_view const& view);
  /// That node's map is used from now on.
  void now_in_use(node_view const& view);

  void suspect(node_address const& node) { suspects_.insert(node); }
  /// Suspects last; else in the order that they had.
  std::vector<node_address> in_order(std::vector<node_address> nodes) const;

 private:
  bool is_sound(node_view const& view) const;

  std::set<node_address> suspects_;
  std::optional<std::uint64_t> epoch_;  // of the map in use, or of the last one that told
  std::optional<node_view> best_;       // of this search
};

}  // namespace herdlock::redis
