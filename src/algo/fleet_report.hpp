// The report of a process to its fleet about the keys that it reads, as it is sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock::algo {

/// The use of one key in one process, over its window; in uses a second.
struct fleet_key {
  std::string key;
  std::uint64_t low = 0;   ///< reads, at least
  std::uint64_t high = 0;  ///< reads, at most
  std::uint64_t writes = 0;
  bool hot = false;           ///< the process has it hot, by its own counts
  std::uint64_t kept_ms = 0;  ///< a value of it is kept there for so long; 0: none

  friend bool operator==(fleet_key const&, fleet_key const&) = default;
};

struct fleet_report {
  static constexpr std::size_t most_keys = 64;
  static constexpr std::size_t most_key_bytes = 256;
  /// No process has more uses of a key.
  static constexpr std::uint64_t most_uses = 1'000'000'000'000;
  static constexpr std::uint64_t most_kept_ms = 315'360'000'000;  // ten years

  std::uint64_t process = 0;  ///< a random number of its own
  std::uint64_t number = 0;   ///< from 1 on
  std::uint64_t rest = 0;     ///< reads a second of a key that is not named, at most
  std::vector<fleet_key> keys;

  friend bool operator==(fleet_report const&, fleet_report const&) = default;
};

/// No two of these have one key.
template <class Keyed>
bool are_distinct(std::vector<Keyed> const& all) {
  std::vector<std::string_view> names;
  for (Keyed const& one : all) names.push_back(one.key);
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

/// The report is within the bounds above, has each key once, and no `low` above its `high`.
bool is_plausible(fleet_report const& report);

/// The length of what encode() returns.
std::size_t encoded_bytes(fleet_report const& report) noexcept;
/// REQUIRES: is_plausible().
std::string encode(fleet_report const& report);
/// Nothing if the text is no report, is cut short, is of another version, or is not plausible.
std::optional<fleet_report> decode_report(std::string_view text);

}  // namespace herdlock::algo
