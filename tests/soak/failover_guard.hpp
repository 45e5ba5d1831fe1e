// The judge of the failover soak: outside Redis, it sees who believes to hold the resource.
#pragma once

#include <cstdint>
#include <herdlock/lease.hpp>
#include <mutex>
#include <vector>

namespace herdlock_test {

/// From any thread.
class failover_guard {
 public:
  struct findings {
    std::uint64_t grants = 0;
    std::uint64_t overlaps = 0;    ///< entered while another was in with a lease that was valid
    std::uint64_t steps_back = 0;  ///< entered with a fencing token that was not larger than all
    std::uint64_t lost = 0;        ///< left with a lease that had ended
  };

  /// The lease must stay where it is until leave().
  void enter(herdlock::lease const& held);
  void leave(herdlock::lease const& held);

  findings so_far() const;
  bool occupied() const;

 private:
  mutable std::mutex mutex_;
  std::vector<herdlock::lease const*> inside_;
  std::uint64_t highest_ = 0;
  findings found_;
};

}  // namespace herdlock_test
