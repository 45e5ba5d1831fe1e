// The calls of a cache that wait for an answer, and how they end: answered, cancelled, when their
// time is over, or with the cache.
#pragma once

#include <boost/intrusive/list.hpp>
#include <memory>

#include <herdlock/detail/cache_core.hpp>

#include "cache/engine/deliveries.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

class cache_engine;

/// All members on the executor.
class cache_callers final : private timed {
 public:
  /// `home` outlives this.
  explicit cache_callers(cache_engine& home);
  ~cache_callers() override;

  /// The caller waits from now on. Returns false if too many wait.
  bool add(detail::cache_caller& caller, clock::time_point now);
  void finish(detail::cache_caller& caller, result<detail::cache_answer> answer);
  /// Something else than a load ended the call: its time, its cancellation. It is answered with
  /// that at once; while its loader runs, when that has ended.
  void end(detail::cache_caller& caller, result<detail::cache_answer> end);
  void cancel(detail::cache_caller& caller);
  /// The caller leaves the flight, and waits on.
  void take_out_of_flight(detail::cache_caller& caller);
  /// The same; the flight is told when the caller was the last.
  void leave_flight(detail::cache_caller& caller);
  /// The cache is being closed.
  void end_all();

 private:
  void on_due(clock::time_point now) override;
  void warn_of_slow_loads();

  cache_engine& home_;
  std::shared_ptr<deliveries> deliveries_;
  // The callers are in the order of their deadlines, which is that of their coming.
  boost::intrusive::list<detail::cache_caller> waiting_;
  bool warned_ = false;
};

}  // namespace herdlock::runtime
