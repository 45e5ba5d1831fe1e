// An entry of a cache as a store keeps it.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace herdlock {
inline namespace v0 {

/// How a value is laid out in the store, so that existing data can be read.
enum class layout {
  string,  ///< one byte string (Redis GET/SET)
  hash,    ///< named fields (Redis HGETALL/HSET)
};

/// "We asked, and there is no such thing": a negative entry.
struct absent {
  friend bool operator==(absent const&, absent const&) = default;
};
using hash_fields = std::vector<std::pair<std::string, std::string>>;
/// An entry as the store keeps it.
using cache_value = std::variant<absent, std::string, hash_fields>;

}  // namespace v0
}  // namespace herdlock
