// The grant channels of one store: one for each server at which it waits.
//
// A single server has one, which shares the store's pushing connection. A cluster has one for each
// node where somebody waits: PUBSUB NUMSUB, by which the step that releases tells who lives, counts
// the connections to the node that executes it, and beats prove the age only of what came the same
// way. So a waiter is queued at a node under the name of a subscriber that listens at that very
// node; where its slot moves to, nobody listens to that name, and it enters anew under another.
// Why: docs/stores/redis-cluster.md#a-channel-for-each-node
#pragma once

#include <memory>
#include <unordered_map>

#include "stores/redis/queue/grant_subscription.hpp"

namespace herdlock::redis {

/// All members on the executor.
class grant_subscriptions {
 public:
  using subscription_ptr = std::shared_ptr<grant_subscription>;

  /// The channel of the server that `commands` leads to, over an existing connection. Before
  /// report_to().
  void add(std::shared_ptr<connection> const& commands, std::shared_ptr<connection> const& pushes);
  void report_to(std::weak_ptr<grant_listener> const& listener);

  /// That of the server to which this connection leads; made, but not opened, when there is none
  /// yet.
  subscription_ptr const& at(connection& commands);
  /// Closes it.
  void forget(connection const& commands);
  /// At those that are in use.
  void beat(milliseconds at_least_every);
  void close();

 private:
  std::unordered_map<connection const*, subscription_ptr>
      subscriptions_;  // each keeps its connection
  std::weak_ptr<grant_listener> listener_;
};

}  // namespace herdlock::redis
