// A process that follows the lists of its fleet's collector (algo/fleet_collector.hpp), for one
// cache prefix.
//
// - The newest list holds, whole. One whose number is not greater is refused, in whatever order
//   they come: so a collector that was stopped, lost its term and goes on is not believed.
// - Until the next one comes it holds. A fleet that loses its collector hears of the next one
//   within the election's ttl, an interval in which that one only listens, and half a second. After
//   twice that time (the first successor may be lost, too, and messages as well) nobody seems to
//   collect; after keeps_without more the keys cool. The number is remembered all the same.
//
// Pure. A process whose own counts say that a key is hot keeps it anyway: that is not said here.
#pragma once

#include <cstddef>
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

  struct taken {
    fleet_hearing how;
    std::vector<fleet_change> changes;  ///< those that have cooled come first
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

  /// The last one, by key; its number alone when its keys have cooled for lack of another one.
  fleet_list const& list() const noexcept { return list_; }

 private:
  clock::duration quiet_for() const noexcept;

  fleet_list list_;
  clock::time_point came_{};
};

}  // namespace herdlock::algo
