// A process that follows the lists of its fleet's collector (algo/fleet_collector.hpp), for one
// cache prefix.
//
// - The newest list holds, whole. One whose number is not greater is refused, in whatever order
//   they come: so a collector that was stopped, lost its term and goes on is not believed. But
//   where no list that counts has come for so long that the keys have cooled, one of a lower term
//   is believed when it is the second of that term, a second or more behind the first: the number
//   that is known was somebody's mistake.
// - Until the next one comes it holds. A fleet that loses its collector hears of the next one
//   within the election's ttl, an interval in which that one only listens, and half a second. After
//   twice that time (the first successor may be lost, too, and messages as well) nobody seems to
//   collect; after keeps_without more the keys cool. The number is remembered all the same.
//
// Pure. A process whose own counts say that a key is hot keeps it anyway: that is not said here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/types.hpp>

#include "algo/fleet_list.hpp"

namespace herdlock::algo {

class list_follower {
 public:
  /// The ttl of the election at most.
  static constexpr milliseconds longest_term{2000};
  static constexpr milliseconds slack{500};
  static constexpr milliseconds keeps_without{5000};
  /// Between two lists of a lower term, of which the second is believed.
  static constexpr milliseconds believes_after{1000};

  struct taken {
    fleet_hearing how;
    std::vector<fleet_change> changes;  ///< those that have cooled, then those that are read most
  };

  taken take(fleet_list list, clock::time_point now);
  /// The keys that cool since no list has come.
  std::vector<fleet_change> advance(clock::time_point now);
  /// When advance() is to be called; time_point::max(): never.
  clock::time_point due() const noexcept;

  bool is_hot(std::string_view key) const;
  std::size_t hot() const noexcept;
  /// The keys that are read most, by `low`, as the last list has them.
  std::vector<fleet_sum> top(std::size_t most) const;
  /// Somebody seems to collect.
  bool has_collector(clock::time_point now) const noexcept;

  /// The last one, by key; its number and pause alone when its keys have cooled for lack of another
  /// one.
  fleet_list const& list() const noexcept { return list_; }

 private:
  clock::duration quiet_for() const noexcept;
  bool is_old(list_number number, clock::time_point now);

  fleet_list list_;
  clock::time_point came_{};
  struct {
    list_number number;
    clock::time_point came{};
  } lower_;  // the first list of a lower term that came when no other one did
};

}  // namespace herdlock::algo
