// When a process reports to its fleet, and what it names: pure.
//
// Each `interval` while there is something to name, or was; at once when a key has become hot, but
// not before least_gap has passed since that was told last; and when one has cooled, but not before
// gap_of_cooled has passed since the last report. So there are at most twelve in a second.
//
// To a collector (algo/fleet_collector.hpp): a key that its list calls hot already is no news, so a
// key that all find at the same moment is announced by a few. In a large fleet each of the three
// times is as long as the pause that the list says, if that is longer, give or take a half.
//
// While nobody seems to collect a few reports are sent as ever. Then the interval is doubled with
// each, up to longest_interval, and nothing is told at once: nobody hears it.
//
// In a fleet where all hear all, a process that has reported is silent for the pause that
// algo/fleet_pace.hpp says, whatever has happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/fleet_report.hpp"
#include "algo/list_follower.hpp"

namespace herdlock::algo {

/// The fleet as a process knows it when it reports.
struct fleet_view {
  std::uint64_t least = 1;              ///< hot_fleet::least_to_name()
  std::size_t processes = 1;            ///< that report, as far as it knows
  list_follower const* list = nullptr;  ///< of the collector; null: all hear all
};

class fleet_teller {
 public:
  static constexpr milliseconds interval{1000};
  static constexpr milliseconds least_gap{100};
  static constexpr milliseconds gap_of_cooled{500};
  static constexpr milliseconds longest_interval{10'000};
  /// So many reports without a collector are sent as with one.
  static constexpr int most_unheard = 4;

  /// `process`: a random number.
  explicit fleet_teller(std::uint64_t process) noexcept : process_(process) {}

  /// The report that is due now, if any. `known`: the keys of this process, in any order;
  /// `uncounted`: the reads a second, at most, of a key that is not among them.
  std::optional<fleet_report> report(std::vector<fleet_key> known, std::uint64_t uncounted,
                                     fleet_view const& fleet, clock::time_point now);

 private:
  bool is_due(std::vector<fleet_key> const& named, fleet_view const& fleet,
              clock::time_point now) const;
  clock::duration pause_in(fleet_view const& fleet) const;
  milliseconds interval_now() const noexcept;
  bool is_news(fleet_key const& one, fleet_view const& fleet) const;
  bool was_told_hot(fleet_key const& one) const;

  std::uint64_t const process_;
  std::uint64_t number_ = 0;
  std::optional<clock::time_point> last_;
  std::size_t last_bytes_ = 0;                  // of the last report
  double part_ = 0;                             // random, of the pause behind it
  std::optional<clock::time_point> last_news_;  // the last report that told of a hot key first
  bool has_named_ = false;                      // in the last report
  int unheard_ = 0;                             // reports since somebody collected, at most 8
  std::vector<std::string> told_hot_;           // in the last report, and hot since then; sorted
  bool has_cooled_ = false;                     // a key of told_hot_, since the last report
};

}  // namespace herdlock::algo
