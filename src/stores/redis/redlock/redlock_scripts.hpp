// What is asked of one node of a redlock store: one script per step.
#pragma once

#include <cstdint>
#include <string>

#include <herdlock/types.hpp>
#include "stores/redis/client/command.hpp"

namespace herdlock::redis {

/// Beside a resource: `counter attempt`, the fencing counter of this node and the number of the
/// last attempt at the lease that was granted here.
inline constexpr std::string_view quorum_role = "quorum";

enum class node_verb {
  acquire,        ///< number: granted, its counter. {pttl, holder}: busy. {pttl, holder, counter}:
                  ///< ours already
  raise,          ///< the counter to at least `token`; number: its counter, 0 when not ours
  undo,           ///< give back what an attempt up to this one was granted; 1 when there was some
  renew,          ///< 1, or 0 when not ours
  release,        ///< 1, or 0 when not ours
  inspect,        ///< {pttl, holder, counter}, or nothing
  force_release,  ///< 1, or 0 when there was nothing
};

inline constexpr node_verb all_node_verbs[] = {
    node_verb::acquire, node_verb::raise,   node_verb::undo,         node_verb::renew,
    node_verb::release, node_verb::inspect, node_verb::force_release};

struct lease_request {
  resource name;
  std::string owner{};
  milliseconds ttl{0};
  /// Greater than that of all attempts before it. It is also the counter that the nodes are to
  /// take if it is above what they have, so that usually all of them take the same.
  std::int64_t attempt = 0;
  std::uint64_t token = 0;
};

void encode_request(node_verb verb, lease_request const& what, command_writer& out,
                    script_form form);

/// SCRIPT LOAD of the verb's script.
void encode_load(node_verb verb, command_writer& out);

/// How the verb is told in messages: "acquire", "renew", …
std::string_view verb_text(node_verb verb);

}  // namespace herdlock::redis
