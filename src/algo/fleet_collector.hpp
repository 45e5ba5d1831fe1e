// The process that was elected to sum up for its fleet: it hears what all processes report, and
// publishes what they know together, for one cache prefix. So n processes send n reports, and n
// lists go out, where n² reports did before.
//
//   began(term) ──▶ hears for one interval, publishes nothing ──▶ lists ──▶ ended()
//
// - In its first interval it knows a part of the fleet only. Meanwhile the last list holds, also
//   behind that until nine tenths of the others that it counts were heard, or all had time enough
//   to be taken for gone: behind an outage they come late. What that list calls hot stays hot if it
//   still has half of what makes a key hot.
// - Then it publishes a list each interval while anybody reports; whoever reports learns from it
//   how large the fleet is, and what is hot. The one after the last report is empty.
// - A key that a process announces, and that may be hot, is published at once, and so is whatever
// else has become hot or
//   has cooled when sums are made: within look_gap of the report that says so.
// - Its number is the fencing token of its term, and a counter: a collector whose term has ended
//   and who does not know it is not believed by anybody who has heard of the next one.
// - No two lists are closer than least_gap, or in a large fleet than the pause that a list says:
//   in that time the collector hears one report of each process at most_heard_a_second, and the
//   store sends one list to each at most_told_a_second, of all prefixes. A process reports no more
//   often, so the collector hears most_heard_a_second in the mean, and twice that when all have
//   news. To sum up what 8 MiB of reports say takes some 150 ms, so at that bound a fifth of a
//   core.
//
// The reports it keeps have a bound in bytes (fleet_thresholds::most_bytes): a report beyond it is
// refused, and the others count on.
//
// Pure. The driver publishes only while its term is valid, and calls advance() at due().
// Why: docs/decisions/hot-keys.md#one-process-sums-up-for-all
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/fleet_list.hpp"
#include "algo/fleet_report.hpp"
#include "algo/hot_fleet.hpp"

namespace herdlock::algo {

class fleet_collector {
 public:
  static constexpr milliseconds least_gap{20};
  /// Between two sums when no process announces a key.
  static constexpr milliseconds look_gap{100};
  static constexpr std::uint64_t most_heard_a_second = 8 * 1024 * 1024;
  static constexpr std::uint64_t most_told_a_second = 16 * 1024 * 1024;
  /// Keys that are not hot are in a list as long as it has no more than that.
  static constexpr std::size_t room_of_others = 8 * 1024;
  /// A process that has said nothing for so many intervals is gone.
  static constexpr int silences = 4;
  /// A process reports at its next tick, so a first interval is longer by that.
  static constexpr milliseconds longest_tick{200};

  explicit fleet_collector(fleet_thresholds const& thresholds) : thresholds_(thresholds) {}

  /// Elected, and listening since `now`. `before`: the last list that this process has heard, or an
  /// empty one. One of this very term goes on counting behind it.
  void began(std::uint64_t term, fleet_list const& before, clock::time_point now);
  /// The term is over, or may be.
  void ended() noexcept;
  /// A list of the collector before, which is known only now. Too late once there was a list.
  void learned(fleet_list const& before, clock::time_point now);
  /// A report, this process's own included. Between ended() and began() it is late. `room`: the
  /// bytes that there are for more.
  fleet_hearing heard(fleet_report report, clock::time_point now,
                      std::size_t room = std::numeric_limits<std::size_t>::max());
  /// Bytes that are heard and told in one interval.
  struct load {
    std::uint64_t heard = 0, told = 0;
  };
  /// The collector of other prefixes has so much to do in the same process.
  void works_beside(load const& others) noexcept { others_ = others; }
  load own_load() const noexcept;
  /// The list that is to be published now; empty: none is.
  std::optional<fleet_list> advance(clock::time_point now);
  /// When advance() is to be called; time_point::max(): never.
  clock::time_point due() const noexcept;

  bool collects() const noexcept { return fleet_.has_value(); }
  /// Nobody reports, and all have been told so.
  bool is_over() const noexcept { return fleet_ && !has_to_tell(); }
  /// The last list; before the first one that of the collector before, under this term.
  fleet_list const& last() const noexcept { return last_; }
  /// The bytes of the reports that are kept, as they were sent.
  std::size_t bytes() const noexcept { return fleet_ ? fleet_->bytes() : 0; }

 private:
  bool has_to_tell() const noexcept;
  void take_over(fleet_list const& before, clock::time_point now);
  bool has_heard_enough() const noexcept;
  fleet_list list_of(std::vector<fleet_sum> keys) const;
  std::uint64_t pause_ms() const noexcept;
  clock::duration gap() const noexcept;
  clock::duration silence() const noexcept;

  fleet_thresholds const thresholds_;
  std::optional<hot_fleet> fleet_;
  fleet_list last_;             // or of the collector before, until there is one
  std::size_t last_bytes_ = 0;  // of that, as it is sent
  load others_;
  // From `ready_` on, or `latest_`, there are lists.
  clock::time_point began_{}, ready_{}, latest_{}, listed_{}, summed_{}, hurried_{};
  bool has_listed_ = false;   // in this term, since it began
  bool has_news_ = false;     // since the last sums
  bool has_hot_key_ = false;  // of these, one that is announced and is not hot yet
};

}  // namespace herdlock::algo
