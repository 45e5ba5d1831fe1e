// What a cluster node says when it did not execute a command.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "stores/redis/cluster/cluster_map.hpp"

namespace herdlock::redis {

enum class redirection_kind {
  moved,      ///< another node serves the slot now
  ask,        ///< this once, another node: the slot is being moved and the keys are there already
  try_again,  ///< the slot is being moved and the keys are apart, or some do not exist yet
  down,       ///< nobody can serve the slot, or the node is not ready
  garbled,    ///< a redirection that cannot be read
};

struct redirection {
  redirection_kind kind;
  std::uint16_t slot = 0;  ///< of moved and ask
  node_address to{};       ///< of moved and ask
};

/// Nothing for an error line that is none. Only lines that begin with their word: a script that
/// failed in the middle quotes it further behind, and has been executed in part. One that named a
/// key of its slot which is not here (any more) is `try_again`: its outcome is unknown.
std::optional<redirection> parse_redirection(std::string_view line, node_address const& asked);

}  // namespace herdlock::redis
