// The thread of one store, and what the end of the process waits for.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <cstddef>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <herdlock/types.hpp>

#include "types/process_bound.hpp"

namespace herdlock::runtime {

/// How long what a user has put on a store's thread may take when the store closes.
inline constexpr milliseconds thread_limit{1000};

/// A thread of its own for one store.
struct io_runner {
  boost::asio::io_context io{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{io.get_executor()};
  std::promise<void> at_end;  // the thread's
  std::future<void> ended = at_end.get_future();
  std::thread thread;
  std::thread::id id;  // the thread's, also when it is joined

  static std::shared_ptr<io_runner> start();
  bool runs_here() const { return id == std::this_thread::get_id(); }
};

/// The work of the process for its stores' threads when it ends by exit() or the end of main():
///
/// - Candidates whose handle has gone are waited for: a term is given back when its work has
/// stopped.
/// - Handlers that have been put on the threads by then are run. The last handle of a store may be
/// in there.
/// - The threads that close behind their last handle are waited for: what they give back arrives.
///
/// That is behind the destructors of the program's static objects. A store that still has handles
/// is not closed: nobody may take away what other threads work under; but its thread stands still
/// from then on, since the client libraries that it calls end next. Nothing of the library that a
/// store's thread uses is destroyed before the process. Where a store's own thread calls exit(),
/// no candidate is waited for, and that store leaves what it holds to its ttl.
class process_end {
 public:
  static process_end& shared() { return detail::per_process<process_end>(); }

  /// A store has got its thread.
  void opened(std::shared_ptr<io_runner> const& one);
  /// The runner's thread closes the store behind its last handle; it has not begun yet.
  void take_over(std::shared_ptr<io_runner> const& one);
  /// The work that a store's thread still has for a handle that has gone, until this is dropped.
  std::shared_ptr<void> duty();
  void run();

 private:
  struct closing {
    std::thread thread;
    std::future<void> ended;
  };

  bool is_on_a_stores_thread();
  void wait_for_duties(clock::time_point until);
  enum class then { go_on, stand_still };
  /// Waits until the running threads have done all that was put on them by now; `what` they do
  /// then.
  void reach_all(clock::time_point until, then what);
  static void wait_for(closing& one, clock::time_point until);
  std::vector<std::shared_ptr<io_runner>> running();
  bool take(closing& into);

  std::mutex mutex_;
  std::vector<std::weak_ptr<io_runner>> runners_;
  std::vector<closing> closing_;
  std::size_t duties_ = 0;
  std::condition_variable done_;
};

}  // namespace herdlock::runtime
