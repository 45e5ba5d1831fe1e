// Threads for calls of the C client that may never come back: its look-up of a host name.
#pragma once

#include <functional>
#include <herdlock/types.hpp>
#include <memory>

namespace herdlock::zookeeper {

/// Each job has a thread of its own, which nobody joins: it owns all that it touches.
class detached_threads {
 public:
  detached_threads();

  /// False when no thread is left. The job throws nothing.
  [[nodiscard]] bool run(std::function<void()> job);
  /// Returns when all jobs are done. Those that are not by the deadline are left behind.
  void wait_until(clock::time_point deadline);

  /// So many were left behind, in all of the process, that none should begin that may be, too.
  static bool crowded();

 private:
  struct state;
  std::shared_ptr<state> const state_;
};

}  // namespace herdlock::zookeeper
