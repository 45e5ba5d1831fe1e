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
class kept : public boost::intrusive::set_base_hook<
                 boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
 public:
  clock::time_point due{};
  /// Called with the object out of the keeper; it may put itself back.
  virtual void on_due(clock::time_point now) = 0;
  friend bool operator<(kept const& a, kept const& b) { return a.due < b.due; }

 protected:
  kept() = default;
  kept(kept const&) = delete;
  kept& operator=(kept const&) = delete;
  virtual ~kept() = default;
};

/// All members on the executor. O(log n) per call, n being the leases held.
class lease_keeper : public std::enable_shared_from_this<lease_keeper> {
 public:
  explicit lease_keeper(boost::asio::any_io_executor executor);

  void start();
  void schedule(kept& entry, clock::time_point at);
  static void remove(kept& entry);
  void close();

 private:
  void run_due();
  void call_due();
  void rearm();

  using schedule_type =
      boost::intrusive::multiset<kept, boost::intrusive::constant_time_size<false>>;
  boost::asio::any_io_executor executor_;
  schedule_type schedule_;
  std::shared_ptr<boot_timer> timer_;
};

}  // namespace herdlock::runtime
