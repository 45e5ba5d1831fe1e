// The slots in which the loads of a cache may run.
#pragma once

#include <memory>

#include <herdlock/cache_options.hpp>

#include "algo/load_gate.hpp"
#include "algo/load_machine.hpp"

namespace herdlock::runtime {

class load_flight;

/// All members on the executor.
class load_slots {
 public:
  using queue = algo::slot_queue<std::shared_ptr<load_flight>>;

  explicit load_slots(load_bounds const& bounds)
      : guarded_(bounds.max_loads), unguarded_(bounds.max_loads_without_store) {}

  queue& of(algo::load_guard guard) {
    return guard == algo::load_guard::guarded ? guarded_ : unguarded_;
  }
  void free(algo::load_guard guard);
  void close() { closed_ = true; }

 private:
  queue guarded_, unguarded_;
  bool closed_ = false;
};

}  // namespace herdlock::runtime
