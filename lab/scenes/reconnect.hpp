// Scene `reconnect`: what its processes share, and what is demanded of a lock beside a fleet.
#pragma once

#include "stage/report.hpp"

namespace herdlock::lab::reconnect {

inline constexpr std::size_t most_processes = 20;

struct board {
  using count = std::atomic<std::uint64_t>;

  std::array<count, most_processes> known{};     // of the fleet: the least of a process's members
  std::array<count, most_processes> reported{};  // by all members of a process
  std::atomic<std::size_t> ready{0};             // of these processes
  // Beside the fleet, from when its connections are cut.
  std::atomic<bool> is_held{false}, is_asked{false};
  count lost{0};
  latencies pings;
  std::atomic<bool> stop{false};
};

/// By how many leases the part lost whose members report, and the control, whose members do not.
inline void judge_leases(std::uint64_t lost, std::uint64_t lost_by_control, judge& judged) {
  judged.demand(lost == 0 || lost_by_control != 0,
                "a lease was lost when all members of a fleet reconnected");
}

}  // namespace herdlock::lab::reconnect
