// Names of nodes: ours, Curator's and kazoo's, and what our nodes contain.
#pragma once

#include <cstdint>
#include <herdlock/types.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock::zookeeper {

/// How our nodes are called, before the ten digits that the server appends:
/// `_c_01234567-89ab-…-lock-` (Curator's, which kazoo honours with extra_lock_patterns=["-lock-"])
/// or `<32 hex digits>__lock__` (kazoo's, which Curator does not honour).
enum class naming { curator, kazoo };

/// The node of a resource: one path component, different for different resources.
std::string component_of(resource const& name);

/// The resource whose node that is; nothing for what we do not call so.
std::optional<resource> resource_of(std::string_view component);

/// With session_grace: the node beside the queue that says that the lock is not released.
/// Curator and kazoo take no notice of it: it has no number, and is sorted behind those that have.
inline constexpr std::string_view open_mark = "_herdlock_open";

/// What an owner's node is called, before the digits.
std::string prefix_of(owner_token const& owner, naming how);
/// Whether it is a node of this owner, whatever naming it has.
bool is_of(owner_token const& owner, std::string_view node);

/// The number at the end of an entry's name, as the server counts: ten digits, or a '-' and at
/// least nine after 2^31 entries. Nothing when the node is no entry of the queue.
std::optional<std::int32_t> sequence_of(std::string_view node);

/// The entries of the queue among the children of a resource, the holder first. Numbers are
/// compared as they wrap around: right while those that live at a time are within 2^31 of each
/// other.
std::vector<std::string> in_order(std::vector<std::string> children);

/// What a node of ours contains: `herdlock ttl=30000 host/pid`.
struct node_text {
  std::string label;
  milliseconds ttl{0};  ///< 0: another client's node, whose lease has none
};
std::string encode(owner_token const& owner, milliseconds ttl);
/// Of any node; one that is not ours is labelled as another client's.
node_text decode(std::string_view data);

}  // namespace herdlock::zookeeper
