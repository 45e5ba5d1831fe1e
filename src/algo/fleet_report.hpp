// The reports of a process to its fleet about the keys that it reads, as they are sent.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

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

struct fleet_thresholds {
  std::uint64_t threshold = 10'000;  ///< reads a second, of all processes together
  double reads_per_write = 20;       ///< at least; half of it when it is hot
  clock::duration cool_time{0};
  clock::duration silence = std::chrono::seconds(5);  ///< at least
  std::size_t most_hot = 256;
  /// The bound of the reports that are kept, measured as they are sent; they take at most twice
  /// that in memory. A report that has no room is refused, also of a process that is known: what it
  /// said before counts until it has been silent for too long. The others count on.
  std::size_t most_bytes = std::size_t(32) * 1024 * 1024;

  friend bool operator==(fleet_thresholds const&, fleet_thresholds const&) = default;
};

/// The topic of all reports to a collector, and that of its lists for one prefix. Stores keep both
/// in one place, whatever the prefix: {herdlock} is a hash tag of Redis Cluster.
inline constexpr std::string_view hot_reports_topic = "{herdlock}:herdlock:hot-reports";
inline std::string hot_list_topic(std::string_view prefix) {
  return "{herdlock}:herdlock:hot-list:" + std::string(prefix);
}

/// A report as it goes to the collector of a store (algo/fleet_collector.hpp), which collects for
/// all caches over that store, also for those of which its process has none: with the prefix of the
/// cache, and with what makes a key hot there.
struct addressed_report {
  std::string prefix;
  /// `silence` and `most_bytes` are not sent: they are the collector's own.
  fleet_thresholds thresholds;
  fleet_report report;

  friend bool operator==(addressed_report const&, addressed_report const&) = default;
};

/// REQUIRES: is_plausible(one.report).
std::string encode(addressed_report const& one);
/// Nothing if the text is none, is cut short, is of another version, or is not plausible.
std::optional<addressed_report> decode_addressed_report(std::string_view text);

}  // namespace herdlock::algo
