// The flight of a key that takes new callers stands in the key's record.
#pragma once

#include <cstdint>
#include <string_view>

#include "algo/key_records.hpp"

namespace herdlock::algo {

/// The index of a flight_table.
class record_flights {
 public:
  /// `table` outlives this.
  explicit record_flights(key_records& table) : table_(table) {}

  std::uint64_t find(std::string_view key) const {
    auto const* const record = table_.find(key);
    return record ? record->flight : 0;
  }
  bool set(std::string_view key, std::uint64_t id) {
    key_place at(table_, key);
    if (!at.make(key)) return false;
    at->flight = id;
    return true;
  }
  void clear(std::string_view key) {
    key_place const at(table_, key);
    if (at) at->flight = 0;
  }

 private:
  key_records& table_;
};

}  // namespace herdlock::algo
