// Which cluster this is: the ids of its nodes, by which a stranger at the address of one is known.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <herdlock/backend.hpp>
#include "stores/redis/client/membership.hpp"
#include "stores/redis/cluster/cluster_map.hpp"

namespace herdlock::redis {

/// A node proves by its own map that it belongs here: the map names at least one of the nodes that
/// ours names. A new node passes, as it knows the old ones before it serves anything; one of
/// another cluster knows none. Nobody can tell when no map is in use yet, when the node serves and
/// knows no slots (it refuses each command itself), or when it gives no map.
class cluster_members final : public membership {
 public:
  /// `warnings` may be null.
  cluster_members(std::string store, std::shared_ptr<store_warnings> warnings)
      : store_(std::move(store)), warnings_(std::move(warnings)) {}

  failure check(reply const& slots, std::string const& address) override;
  failure check(cluster_map const& map, std::string const& address);
  /// The map that is used from now on.
  void now_in_use(cluster_map const& map) { ids_ = map.ids(); }

  /// The user may not run CLUSTER INFO there.
  void warn_of_hidden_state(std::string_view line, std::string const& address);

 private:
  void warn(std::string text);

  std::string store_;
  std::shared_ptr<store_warnings> warnings_;
  node_ids ids_;  // of the map in use
};

}  // namespace herdlock::redis
