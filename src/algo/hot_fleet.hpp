// The knowledge that the processes of a fleet share: each of them sums up the newest reports of
// all, so none is special, and none is missed.
//
// A key that is named has in its process at least `low` reads a second and at most `high`; one that
// is not has `rest` at most in each that reports. A process names the keys that may have a
// hundredth of the threshold there, or threshold ÷ 4n when n processes report and that is less
// (least_to_name). One that reads no key so often reports nothing, and is not among the n. So in a
// fleet of up to 25 processes the reports cover three quarters of the reads of a key at the
// threshold, at least, whoever has reported before; in one of up to 100, when all read it alike.
//
// A key is hot in the fleet as soon as one process says that it is hot there, or three quarters of
// the threshold are told of and it is not written too often. It cools when no process says so any
// more, and the sums were below half of that for cool_time. While it is hot each process that keeps
// it sees all its writes, so the greatest of their numbers is that of all; when nobody keeps it any
// more nobody sees them. So one that cools by its writes is not hot in the fleet for twice
// cool_time, whatever is said of it, and for twice that time when it soon cools by them again, up
// to 64 times. A process that has said nothing for `silence`, or for longer where the fleet is so
// large that all report seldom (algo/fleet_pace.hpp), is gone.
//
// Pure: no clock, no store. Reports carry no times; they are as old as their coming here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/fleet_report.hpp"

namespace herdlock::algo {

struct fleet_thresholds {
  std::uint64_t threshold = 10'000;  ///< reads a second, of all processes together
  double reads_per_write = 20;       ///< at least; half of it when it is hot
  clock::duration cool_time{0};
  clock::duration silence = std::chrono::seconds(5);  ///< at least
  std::size_t most_hot = 256;
};

/// The sums of one key over all processes; in uses a second.
struct fleet_sum {
  std::string key;
  std::uint64_t low = 0;   ///< reads, at least
  std::uint64_t high = 0;  ///< reads, at most
  std::uint64_t writes = 0;
  std::size_t processes = 0;  ///< those that name it
  bool hot = false;
  std::size_t kept_by = 0;    ///< processes that keep a value of it
  std::uint64_t kept_ms = 0;  ///< how long, in the process that has kept one longest
};

struct fleet_change {
  enum class kind { hot, cooled };
  kind what;
  std::string key;

  friend bool operator==(fleet_change const&, fleet_change const&) = default;
};

/// How a report is taken.
enum class fleet_hearing {
  news,
  old,      ///< it, or a newer one of its process, was here before
  refused,  ///< not plausible, or of one process too many
};

class hot_fleet {
 public:
  static constexpr std::size_t most_processes = 1024;

  explicit hot_fleet(fleet_thresholds const& thresholds) : thresholds_(thresholds) {}

  /// A process has said this, this one or another.
  fleet_hearing hear(fleet_report report, clock::time_point now);
  /// The keys that have become hot, or have cooled, by now.
  std::vector<fleet_change> advance(clock::time_point now);

  /// A key that may have so many reads a second here is to be named in a report. 1 at least; no
  /// more than least_to_take_part().
  std::uint64_t least_to_name() const noexcept;
  /// The same before anybody has reported.
  static std::uint64_t least_to_take_part(fleet_thresholds const& thresholds) noexcept;
  bool is_hot(std::string_view key) const { return hot_.find(key) != hot_.end(); }
  /// The keys that are read most, by `low`, the first one most.
  std::vector<fleet_sum> top(std::size_t most) const;
  std::size_t processes() const noexcept { return members_.size(); }
  std::size_t hot() const noexcept { return hot_.size(); }

 private:
  struct member {
    fleet_report newest;
    std::size_t bytes;  // as it was sent
    clock::time_point heard;
  };
  struct fleet_hot_since {
    clock::time_point since;
    bool by_sums = false;                        // it was hot by the sums, at some time
    std::optional<clock::time_point> low_since;  // the sums
  };
  struct written_key {
    clock::time_point calm_until;
    int doublings = 0;  // of the time until then
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
  bool is_read(key_sum const& sum, double share) const noexcept;
  bool has_reads(key_sum const& sum, double share) const noexcept;
  bool is_written_too_often(key_sum const& sum, double share) const noexcept;
  clock::duration calm_for(int doublings) const noexcept;
  void forget_old_writes(std::string_view key, clock::time_point since, clock::time_point now);
  void cool_by_writes(std::string_view key, clock::time_point now);
  void find_hot(key_sums const& sums, clock::time_point now, std::vector<fleet_change>& out);
  void find_cooled(key_sums const& sums, clock::time_point now, std::vector<fleet_change>& out);

  fleet_thresholds const thresholds_;
  std::map<std::uint64_t, member> members_;
  std::map<std::string, fleet_hot_since, std::less<>> hot_;
  std::map<std::string, written_key, std::less<>> written_;  // bounded
};

}  // namespace herdlock::algo
