// The work of one term: the caller's two services, from the call of the first until both have
// returned.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <exception>
#include <functional>
#include <memory>

#include <herdlock/election.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// Members on `home`, the store's executor; the services run on `where`.
class election_work final : public std::enable_shared_from_this<election_work> {
 public:
  struct executors {
    asio::any_io_executor home;
    asio::any_io_executor where;  ///< a strand
  };
  struct reports {
    std::weak_ptr<void> to;                            ///< kept alive while a service runs
    std::function<void(std::exception_ptr)> finished;  ///< start_work has returned
    std::function<void()> stopped;                     ///< both have, after stop()
  };

  election_work(executors at, std::shared_ptr<election_services const> services, lease held,
                std::string candidate);

  void start(reports to);
  /// Tells the work to stop: the token at once, from this thread; the rest on `where`.
  void stop();
  /// Neither service is running.
  bool over() const { return under_way_ == 0; }
  lease& held() { return held_; }

 private:
  void spawn(election_service const& service, asio::cancellation_slot slot,
             std::function<void(std::exception_ptr)> returned);
  void returned();

  executors const at_;
  std::shared_ptr<election_services const> const services_;
  lease held_;
  election_term term_;
  reports to_;
  asio::cancellation_signal cancel_;  // on at_.where
  int under_way_ = 0;
  bool told_to_stop_ = false;
};

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
