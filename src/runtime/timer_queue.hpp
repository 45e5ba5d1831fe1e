// All held leases of one store by the time at which their machine wants to be asked next, over one
// timer. Renewals that fall due together leave together.
#pragma once

#include <boost/intrusive/set.hpp>
#include <boost/intrusive/set_hook.hpp>
#include <memory>

#include <herdlock/types.hpp>

#include "runtime/boot_timer.hpp"

namespace herdlock::runtime {

/// Something that wants to be called at a time. Intrusive: keeping a lease allocates nothing.
class timed : public boost::intrusive::set_base_hook<
                  boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  clock::time_point due{};
  /// Called with the object out of the queue; it may put itself back.
  virtual void on_due(clock::time_point now) = 0;
  friend bool operator<(timed const& a, timed const& b) { return a.due < b.due; }

 protected:
  timed() = default;
  timed(timed const&) = delete;
  timed& operator=(timed const&) = delete;
  virtual ~timed() = default;
};

/// All members on the executor. O(log n) per call, n being the leases held.
class timer_queue : public std::enable_shared_from_this<timer_queue> {
 public:
  explicit timer_queue(boost::asio::any_io_executor executor);

  void start();
  void schedule(timed& entry, clock::time_point at);
  static void remove(timed& entry);
  void close();

 private:
  void run_due();
  void call_due();
  void rearm();

  using schedule_type =
      boost::intrusive::multiset<timed, boost::intrusive::constant_time_size<false>>;
  boost::asio::any_io_executor executor_;
  schedule_type schedule_;
  std::shared_ptr<boot_timer> timer_;
};

}  // namespace herdlock::runtime
