// The judge of the failover soak: outside Redis, it sees who believes to hold the resource.
#pragma once

#include <cstdint>
#include <herdlock/lease.hpp>
#include <map>
#include <mutex>
#include <string>
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
  void enter(std::string const& name, herdlock::lease const& held);
  void leave(std::string const& name, herdlock::lease const& held);

  findings so_far() const;
  bool occupied(std::string const& name) const;

 private:
  mutable std::mutex mutex_;
  struct room {
    std::vector<herdlock::lease const*> inside;
    std::uint64_t highest = 0;
  };
  std::map<std::string, room> rooms_;  // by resource
  findings found_;
};

}  // namespace herdlock_test
