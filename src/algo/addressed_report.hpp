// A report as it goes to the collector of a store (algo/fleet_collector.hpp), which collects for
// all caches over that store, also for those of which its process has none: with the prefix of the
// cache, and with what makes a key hot there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algo/fleet_report.hpp"
#include "algo/hot_fleet.hpp"

namespace herdlock::algo {

/// The topic of all reports to a collector, and that of its lists for one prefix. Stores keep both
/// in one place, whatever the prefix: {herdlock} is a hash tag of Redis Cluster.
inline constexpr std::string_view hot_reports_topic = "{herdlock}:herdlock:hot-reports";
inline std::string hot_list_topic(std::string_view prefix) {
  return "{herdlock}:herdlock:hot-list:" + std::string(prefix);
}

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
