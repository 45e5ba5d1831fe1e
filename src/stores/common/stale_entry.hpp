// The effect of `expire` on an entry that a store has in its hands.
#pragma once

#include <herdlock/value.hpp>

#include "algo/entry_header.hpp"

namespace herdlock::stores {

/// Writes the mark into the header. False, and nothing is changed, where none is known.
inline bool make_stale(cache_value& entry) {
  if (auto* const text = std::get_if<std::string>(&entry)) return algo::mark_stale(*text);
  auto* const fields = std::get_if<hash_fields>(&entry);
  if (!fields) return false;
  for (auto& [name, content] : *fields) {
    if (name == algo::header_field) return algo::mark_stale(content);
  }
  return false;
}

}  // namespace herdlock::stores
