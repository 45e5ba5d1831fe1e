// Where herdlock keeps what belongs to a key: side keys in the key's own cluster slot.
#pragma once

#include <string>
#include <string_view>

namespace herdlock::redis {

/// Redis Cluster hashes what stands between the first '{' and the first '}' after it, if anything.
inline bool has_hash_tag(std::string_view key) {
  auto const open = key.find('{');
  if (open == std::string_view::npos) return false;
  auto const close = key.find('}', open + 1);
  return close != std::string_view::npos && close > open + 1;
}

/// `{key}:herdlock:role`; a key with a hash tag of its own keeps it: `key::herdlock:role`. The two
/// colons keep the side keys of `x` and of `{x}` apart. (A key with a lone '}' cannot be wrapped;
/// its side keys may live in another slot.)
inline void side_key(std::string& out, std::string_view key, std::string_view role) {
  out.clear();
  bool const tagged = has_hash_tag(key);
  if (!tagged) out += '{';
  out += key;
  out += tagged ? "::herdlock:" : "}:herdlock:";
  out += role;
}

inline std::string side_key_of(std::string_view key, std::string_view role) {
  std::string made;
  side_key(made, key, role);
  return made;
}

/// Of a lease: the fencing counter.
inline constexpr std::string_view fence_role = "fence";
/// Of a cache entry: the claim (layout letter + owner), its counter, the error of the last load.
inline constexpr std::string_view claim_role = "claim";
inline constexpr std::string_view claim_fence_role = "claim-fence";
inline constexpr std::string_view error_role = "error";
/// The channel of a cache entry, followed by ':' and the database: channels know no databases.
inline std::string events_role(int database) { return "events:" + std::to_string(database); }

}  // namespace herdlock::redis
