// Machines of a cache's keys with records of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "algo/key_records.hpp"

namespace herdlock::algo {

/// Room for so many short keys.
inline std::size_t room_for(std::size_t keys) { return keys * (key_record::bytes_around + 16); }

struct own_records {
  explicit own_records(std::size_t most_keys) : records(room_for(most_keys)) {}
  std::size_t keys() const { return records.keys(); }
  key_records records;
};

/// A machine over records that nobody else uses.
template <class Machine>
class alone : public own_records, public Machine {
 public:
  static constexpr std::size_t many = 65'536;

  alone() : own_records(many), Machine(records) {}
  template <class Options>
  explicit alone(Options options, std::size_t most_keys = many)
      : own_records(most_keys), Machine(std::move(options), records) {}
};

/// The flights of keys, without records.
class flights_in_a_map {
 public:
  std::uint64_t find(std::string_view key) const {
    auto const at = ids_.find(key);
    return at == ids_.end() ? 0 : at->second;
  }
  bool set(std::string_view key, std::uint64_t id) { return ids_.emplace(key, id).second; }
  void clear(std::string_view key) { ids_.erase(key); }

 private:
  std::unordered_map<std::string_view, std::uint64_t> ids_;
};

}  // namespace herdlock::algo
