// The list that the collector of a fleet publishes for the keys of one cache prefix: those that are
// hot in the fleet, and the sums of what processes have reported. Each list is whole; it replaces
// the one before.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/fleet_report.hpp"

namespace herdlock::algo {

/// One key in all processes; in uses a second.
struct fleet_sum {
  std::string key;
  std::uint64_t low = 0;   ///< reads, at least
  std::uint64_t high = 0;  ///< reads, at most
  std::uint64_t writes = 0;
  std::size_t processes = 0;  ///< that name it
  bool hot = false;
  std::size_t kept_by = 0;    ///< processes that keep a value of it
  std::uint64_t kept_ms = 0;  ///< by the one that has kept one longest

  friend bool operator==(fleet_sum const&, fleet_sum const&) = default;
};

struct fleet_change {
  enum class kind { hot, cooled };
  kind what;
  std::string key;
  std::uint64_t low = 0;  ///< reads at least, when it became hot

  /// They have the same kind and key.
  friend bool operator==(fleet_change const& a, fleet_change const& b) noexcept {
    return a.what == b.what && a.key == b.key;
  }
};

/// How a report or a list is taken.
enum class fleet_hearing {
  news,
  old,      ///< it, or a newer one of its sender, was here before
  refused,  ///< not plausible, or beyond the bound of what is kept
};

/// A later one is greater: terms have fencing tokens, which only grow, and a collector counts.
struct list_number {
  std::uint64_t term = 0;     ///< the fencing token of the collector's term
  std::uint64_t counter = 0;  ///< from 1 on, in each term

  friend bool operator==(list_number const&, list_number const&) = default;
  friend std::strong_ordering operator<=>(list_number const& a, list_number const& b) noexcept {
    return a.term != b.term ? a.term <=> b.term : a.counter <=> b.counter;
  }
};

struct fleet_list {
  static constexpr std::size_t most_keys = 1024;
  /// As encoded. So many keys of the longest name have room.
  static constexpr std::size_t most_bytes = 320 * 1024;
  static constexpr std::uint64_t most_processes = 0xffff'ffff;
  /// Fencing tokens are whole numbers of a double.
  static constexpr std::uint64_t terms_end = std::uint64_t(1) << 53;
  static constexpr std::uint64_t most_pause_ms = 60'000;
  /// Between two reports of a process, and between two lists, when nothing happens.
  static constexpr milliseconds shortest_interval{1000};

  list_number number;
  std::uint64_t processes = 0;  ///< that report
  /// In a large fleet nobody says anything more often than that.
  std::uint64_t pause_ms = 0;
  std::vector<fleet_sum> keys;  ///< those that are hot, and some that are read most
  /// number_of() the thresholds by which they are judged (algo/hot_fleet.hpp).
  std::uint64_t options = 0;

  milliseconds pause() const noexcept {
    return milliseconds(static_cast<milliseconds::rep>(pause_ms));
  }
  milliseconds interval() const noexcept { return std::max(shortest_interval, pause()); }
  bool says_something() const noexcept { return processes != 0 || !keys.empty(); }

  friend bool operator==(fleet_list const&, fleet_list const&) = default;
};

/// Within the bounds above, each key once, with sums that can be.
bool is_plausible(fleet_list const& list);

/// The size of what encode() makes.
std::size_t encoded_bytes(fleet_list const& list) noexcept;
std::size_t encoded_bytes(fleet_sum const& one) noexcept;
/// REQUIRES: is_plausible().
std::string encode(fleet_list const& list);
/// Nothing for what is no list, is cut short, is of another version, or is not plausible.
std::optional<fleet_list> decode_fleet_list(std::string_view text);

}  // namespace herdlock::algo
