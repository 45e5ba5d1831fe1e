// What is asked of a resource without joining its queue.
#pragma once

#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

/// Who holds it is the answer to an acquisition that does not wait, or not any more: the label of
/// the holder and its ttl. When nobody does, the operation joins the queue, or is told so.
enum class when_free { enqueue, say_busy };
void tell_holder(std::shared_ptr<store_state> const& store, std::shared_ptr<waiter> const& one,
                 when_free what);

void inspect(std::shared_ptr<store_state> const& store, resource const& name,
             std::shared_ptr<inspect_operation> const& one);

void list(std::shared_ptr<store_state> const& store, list_request asked,
          std::shared_ptr<list_operation> const& one);

/// Removes the node of an owner that this store has no entry for (one that it granted through
/// another handle), or without an owner the holder's, whoever made it.
void remove_node(std::shared_ptr<store_state> const& store, resource const& name,
                 std::optional<owner_token> const& owner,
                 std::shared_ptr<release_operation> const& one);

}  // namespace herdlock::zookeeper
