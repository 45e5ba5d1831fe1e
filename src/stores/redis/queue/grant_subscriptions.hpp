// The grant channels of one store: one for each server at which it waits.
//
// A single server has one, which shares the store's pushing connection. A cluster has one for each
// node where somebody waits: PUBSUB NUMSUB, by which the step that releases tells who lives, counts
// the connections to the node that executes it, and beats prove the age only of what came the same
// way. So a waiter is queued at a node under the name of a hub that listens at that very node;
// where its slot moves to, nobody listens to that name, and it enters anew under another.
#pragma once

#include <memory>
#include <unordered_map>

#include "stores/redis/queue/grant_subscription.hpp"

namespace herdlock::redis {

/// All members on the executor.
class grant_channels {
 public:
  using channel_ptr = std::shared_ptr<grant_channel>;

  /// The channel of the server that `commands` leads to, over an existing connection. Before
  /// report_to().
  void add(std::shared_ptr<link> const& commands, std::shared_ptr<push_connection> const& pushes);
  void report_to(std::weak_ptr<grant_listener> const& listener);

  /// That of the server to which this link leads; made, but not opened, when there is none yet.
  channel_ptr const& at(link& commands);
  /// Closes it.
  void forget(link const& commands);
  /// At those that are in use.
  void beat(milliseconds at_least_every);
  void close();

 private:
  std::unordered_map<link const*, channel_ptr> channels_;  // each keeps its link
  std::weak_ptr<grant_listener> listener_;
};

}  // namespace herdlock::redis
