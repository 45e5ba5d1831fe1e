// What is asked of a resource without joining its queue.
#pragma once

#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

/// A look before an acquisition that may not wait: who holds it is the answer; when nobody does,
/// the operation joins the queue.
void look_first(std::shared_ptr<store_state> const& store, std::shared_ptr<waiter> const& one);

/// Ends an acquisition whose wait is over with the label of the holder and its ttl.
void answer_busy(std::shared_ptr<store_state> const& store, std::shared_ptr<waiter> const& one);

void inspect(std::shared_ptr<store_state> const& store, resource const& name,
             std::shared_ptr<inspect_operation> const& one);

void list(std::shared_ptr<store_state> const& store, list_request asked,
          std::shared_ptr<list_operation> const& one);

/// Removes the holder's node, whoever made it.
void force(std::shared_ptr<store_state> const& store, resource const& name,
           std::shared_ptr<release_operation> const& one);

/// Removes the node of an owner that this store has no entry for: one that it granted through
/// another handle.
void release_elsewhere(std::shared_ptr<store_state> const& store, resource const& name,
                       owner_token const& owner, std::shared_ptr<release_operation> const& one);

}  // namespace herdlock::zookeeper
