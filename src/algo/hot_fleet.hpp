// The knowledge that the processes of a fleet share: the sum of the newest reports of all. Each
// process makes it where all hear all (SQLite, memory); elsewhere one collector makes it for all
// (algo/fleet_collector.hpp).
//
// A key that is named has in its process at least `low` reads a second and at most `high`; one that
// is not has `rest` at most in each that reports. A process names the keys that may have a
// hundredth of the threshold there, or threshold ÷ 4n when n processes report and that is less
// (least_to_name). One that reads no key so often reports nothing, and is not among the n. So in a
// fleet of up to 25 processes the reports cover three quarters of the reads of a key at the
// threshold, at least, whoever has reported before; in one of up to 100, when all read it alike.
//
// A key is hot in the fleet as soon as one process says that it is hot there, or three quarters of
// the threshold are told of and it is not written too often (algo/heat.hpp). It cools when no
// process says so any more, and the sums were below half of that for cool_time; at once if they
// never made it hot. While it is hot each process that keeps it sees all its writes, so the
// greatest of their numbers is that of all. One that cooled by its writes has to be calm for twice
// cool_time at first, whatever is said of it.
//
// A hot key keeps no hotter one out. When most_hot keys are hot, the least read one makes room for
// one that is read twice as much, so that two do not come and go by turns.
//
// Pure: no clock, no store. Reports carry no times; they are as old as their coming here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/fleet_list.hpp"
#include "algo/fleet_report.hpp"
#include "algo/heat.hpp"

namespace herdlock::algo {

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

/// A number of these options, by which others are told apart; not 0.
std::uint64_t number_of(fleet_thresholds const& thresholds) noexcept;

class hot_fleet {
 public:
  explicit hot_fleet(fleet_thresholds const& thresholds);

  /// A process has said this, this one or another. `room`: the bytes that there are for more,
  /// beside the bound.
  fleet_hearing hear(fleet_report report, clock::time_point now,
                     std::size_t room = std::numeric_limits<std::size_t>::max());
  /// It names a key as hot for the first time that is not hot in the fleet, and may be.
  bool announces(fleet_report const& report) const;
  /// The changes up to now. A process that has said nothing for `silence`, or for longer in a fleet
  /// so large that all report seldom (algo/fleet_pace.hpp), is gone.
  std::vector<fleet_change> advance(clock::time_point now);
  /// The same with a silence that is known.
  std::vector<fleet_change> advance(clock::time_point now, clock::duration silence);
  /// Another one found these keys hot. They stay hot if the next advance() finds that they are read
  /// at half of what makes a key hot, or that a process says so; else they cool there.
  void take_over(std::vector<fleet_sum> const& keys, clock::time_point now);

  /// A key that may have so many reads a second here is to be named in a report. 1 at least; no
  /// more than least_to_take_part().
  std::uint64_t least_to_name() const noexcept { return least_to_name(thresholds_, processes()); }
  static std::uint64_t least_to_name(fleet_thresholds const& thresholds,
                                     std::uint64_t processes) noexcept;
  /// The same before anybody has reported.
  static std::uint64_t least_to_take_part(fleet_thresholds const& thresholds) noexcept;
  bool is_hot(std::string_view key) const {
    auto const known = keys_.find(key);
    return known != keys_.end() && known->second.state.hot();
  }
  /// The keys that are read most, by `low`, the first one most.
  std::vector<fleet_sum> top(std::size_t most) const;
  /// All keys: those that are hot, then the others; each part by `low`.
  std::vector<fleet_sum> hot_and_others() const;
  std::size_t processes() const noexcept { return members_.size(); }
  std::size_t hot() const noexcept { return hot_; }
  /// The bytes that the newest reports of all took when they were sent.
  std::size_t bytes() const noexcept { return bytes_; }
  /// The bytes that are counted for each process beside its report.
  static constexpr std::size_t bytes_around = 96;

 private:
  struct member {
    fleet_report newest;
    std::size_t bytes;  // as it was sent
    clock::time_point heard;
  };
  // A key that is hot, or that cooled by its writes and has to be calm.
  struct known_key {
    heat state;
    clock::time_point since{};
    bool by_sums = false;   // it was hot by them, at some time
    bool was_low = false;   // by the sums, at the look before
    std::uint64_t low = 0;  // reads at least, at that look
  };
  struct hot_time {
    clock::time_point now;
    clock::duration took;  // since the look before
  };
  struct key_sum {
    std::uint64_t low = 0, high = 0, rest = 0;
    std::uint64_t writes = 0, told_writes = 0, own_writes = 0;
    std::size_t processes = 0, kept_by = 0;
    std::uint64_t kept_ms = 0;
    bool announced = false;
  };
  using key_sums = std::map<std::string_view, key_sum>;

  key_sums sum_up() const;
  fleet_sum sum_of(std::string_view key, key_sum const& sum) const;
  std::vector<fleet_change> look(clock::time_point now);
  bool is_read(key_sum const& sum) const noexcept;
  heat_look look_at(key_sum const* sum) const noexcept;
  bool cools(known_key& one, key_sum const* sum, hot_time at) const;
  void find_cooled(key_sums const& sums, hot_time at, std::vector<fleet_change>& out);
  void find_hot(key_sums const& sums, hot_time at, std::vector<fleet_change>& out);
  /// The key that makes room for one with so many reads; null if none does.
  std::string const* least_hot(std::uint64_t low) const;
  bool make_room(key_sum const& needed, std::vector<fleet_change>& out);
  void make_hot(std::string_view key, key_sum const& sum, hot_time at);
  void forget_calmest();

  fleet_thresholds const thresholds_;
  heat_limits const limits_;
  std::map<std::uint64_t, member> members_;
  std::size_t bytes_ = 0;                               // of these
  std::map<std::string, known_key, std::less<>> keys_;  // bounded
  std::size_t hot_ = 0;                                 // so many of them are hot
  clock::time_point looked_{};
};

}  // namespace herdlock::algo
