// Which names no entry has, since stores with one keyspace keep something else there.
#pragma once

#include <string_view>

namespace herdlock::runtime {

/// What belongs to K is kept under `{K}:herdlock:ROLE`, or `K::herdlock:ROLE` when K has a hash tag
/// (stores/redis/keys.hpp): claims, errors, counters, queues. A key that a visitor chooses must not
/// reach them, whatever the prefix.
inline bool is_side_name(std::string_view full_key) {
  return full_key.find("}:herdlock:") != full_key.npos ||
         full_key.find("::herdlock:") != full_key.npos;
}

}  // namespace herdlock::runtime
