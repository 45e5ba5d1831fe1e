// One search for a cluster's map, in rounds: whom each round asks, and the best that was found.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include <herdlock/error.hpp>
#include "stores/redis/cluster/map_question.hpp"

namespace herdlock::redis {

/// Nodes that one round asks. More of a large cluster would only hear from each process the same.
inline constexpr std::size_t max_nodes_of_round = 5;

/// Pure. It ends with the first sound map, or when each node was asked: then the best doubtful map
/// of all its rounds counts.
class map_search {
 public:
  /// No round of it was begun.
  bool is_new() const { return asked_.empty(); }
  /// Whom the next round asks: the first of these that were not asked yet.
  std::vector<node_address> next_round(std::vector<node_address> const& nodes);
  /// After the round that has begun nobody is left.
  bool ends_with_round() const { return last_; }

  void keep(map_answer best) { best_ = std::move(best); }
  std::optional<map_answer>& best() { return best_; }
  /// That a node refuses us, or is no cluster's, says more than that another cannot be reached.
  void note(failure const& why);
  failure const& why() const { return why_; }

 private:
  std::set<node_address> asked_;
  bool last_ = false;
  std::optional<map_answer> best_;  // of the doubtful ones
  failure why_;                     // the most telling
};

}  // namespace herdlock::redis
