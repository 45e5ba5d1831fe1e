// The calls of a cache that wait for an answer, and how they end: answered, cancelled, when their
// time is over, or with the cache.
#pragma once

#include <boost/intrusive/list.hpp>
#include <functional>
#include <memory>

#include <herdlock/detail/cache_core.hpp>

#include "cache/engine/deliveries.hpp"
#include "cache/keys/keys.hpp"
#include "runtime/timer_queue.hpp"

namespace herdlock::runtime {

/// The flight of a caller is told of the end of its call.
struct ends_of_callers {
  /// He waits in it no longer.
  std::function<void(detail::cache_caller&)> left;
  /// His loader runs for it.
  std::function<void(detail::cache_caller&)> ended_while_loading;
};

/// All members on the executor.
class cache_callers final : private timed {
 public:
  cache_callers(home_ptr home, std::shared_ptr<cache_keys> keys, detail::loader_from whose);
  ~cache_callers() override;

  /// Before anything else.
  void tell(ends_of_callers flights) { flights_ = std::move(flights); }
  /// The caller waits from now on. Returns false if too many wait.
  bool add(detail::cache_caller& caller, clock::time_point now);
  void finish(detail::cache_caller& caller, result<detail::cache_answer> answer);
  /// Finishes with the old value, if the answer is an error and the caller has one at hand.
  void finish_with_best(detail::cache_caller& caller, result<detail::cache_answer> answer);
  /// The answer with which the caller would be finished so.
  result<detail::cache_answer> best_of(detail::cache_caller& caller,
                                       result<detail::cache_answer> answer);
  /// Something else than a load ended the call: its time, its cancellation. It is answered with
  /// that at once; while its loader runs, when that has ended.
  void end(detail::cache_caller& caller, result<detail::cache_answer> end);
  void cancel(detail::cache_caller& caller);
  /// The caller leaves the flight that he waits in, and waits on.
  void leave_flight(detail::cache_caller& caller);
  /// Nobody is to be told of anything any more.
  void drop_all();
  /// The cache is being closed.
  void close() noexcept { closed_ = true; }
  void end_all();
  bool closed() const noexcept { return closed_; }

 private:
  struct own_wait;
  using caller_list =
      boost::intrusive::list<detail::cache_caller, boost::intrusive::constant_time_size<false>>;

  void on_due(clock::time_point now) override;
  void wait_apart(detail::cache_caller& caller);
  void end_late(detail::cache_caller& caller);
  void unlink(detail::cache_caller& caller);
  void warn_of_slow_loads();

  home_ptr const home_;
  std::shared_ptr<cache_keys> const keys_;
  std::shared_ptr<deliveries> deliveries_;
  ends_of_callers flights_;
  // Callers with the cache's wait: the order of their coming is that of their deadlines.
  caller_list waiting_;
  caller_list apart_;      // with a wait of their own, each with a timer
  std::size_t count_ = 0;  // of both
  detail::loader_from const whose_;
  bool warned_ = false;
  bool closed_ = false;
};

using callers_ptr = std::shared_ptr<cache_callers>;

}  // namespace herdlock::runtime
