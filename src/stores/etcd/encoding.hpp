// Bytes as the gateway's JSON has them, and the names that stand for a holder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <herdlock/types.hpp>

namespace herdlock::etcd {

std::string to_base64(std::string_view bytes);
/// Nothing when it is not base64.
std::optional<std::string> from_base64(std::string_view text);

/// The lease of an owner on a resource: 63 bits of a SHA-256, never 0, so that whoever knows the
/// owner token finds the lease again after a lost reply. `round` tells apart the leases that follow
/// one another when the ttl changes.
std::int64_t lease_id(resource const& name, owner_token const& owner, std::int64_t round);

/// `resource/`: what all keys of a resource begin with, as in etcd's own lock recipe.
std::string key_prefix(resource const& name);
/// `resource/<lease id in hex>`
std::string key_of(resource const& name, std::int64_t lease);

/// The value of a key: for how long the holder asked, and its label.
struct holder_note {
  milliseconds ttl{0};  ///< 0 when another client wrote it
  std::string label;
  bool left = false;  ///< another owner has the key than the one that it is named by
};
/// The values of keys that were left begin with it, and are greater than those of all others.
inline constexpr std::string_view left_mark = "herdlock left ";
std::string to_value(holder_note const& note);
holder_note from_value(std::string_view value);

}  // namespace herdlock::etcd
