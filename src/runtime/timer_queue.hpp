// All held leases of one store by the time at which their machine wants to be asked next, over one
// timer. Renewals that fall due together leave together.
// Why: docs/decisions/lease.md#one-timer-for-each-store
#pragma once

#include <memory>

#include <herdlock/types.hpp>

#include "algo/deadline_queue.hpp"
#include "runtime/boot_timer.hpp"

namespace herdlock::runtime {

/// Something that wants to be called at a time.
using timed = algo::timed<clock>;

/// All members on the executor. O(log n) per call, n being the leases held.
class timer_queue : public std::enable_shared_from_this<timer_queue> {
 public:
  explicit timer_queue(boost::asio::any_io_executor executor);

  void start();
  void schedule(timed& entry, clock::time_point at);
  static void remove(timed& entry) { algo::deadline_queue<clock>::remove(entry); }
  void close();

 private:
  void run_due();
  void rearm();

  boost::asio::any_io_executor executor_;
  algo::deadline_queue<clock> schedule_;
  std::shared_ptr<boot_timer> timer_;
};

}  // namespace herdlock::runtime
