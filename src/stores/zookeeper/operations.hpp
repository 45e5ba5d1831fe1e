// The ports' operations while they are under way.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <functional>
#include <herdlock/backend.hpp>

#include "stores/common/pending_operations.hpp"

namespace herdlock::zookeeper {

/// Waits without an end end after this, which is more than the clock's deadlines bear to add up.
inline milliseconds bounded(milliseconds wait) {
  return std::min(std::max(wait, milliseconds{0}), limits::max_ttl);
}

class waiter final : public stores::operation<acquire_reply> {
 public:
  waiter(std::shared_ptr<stores::pending_operations> const& pending, acquire_request asked,
         milliseconds timeout, handler<acquire_reply> done)
      : operation(pending, {"acquire", asked.name.str(), std::move(done)},
                  clock::now() + bounded(asked.wait) + timeout),
        request(std::move(asked)),
        wait_until_(clock::now() + bounded(request.wait)),
        timer_(pending->executor()) {}

  acquire_request const request;

  bool may_wait() const { return clock::now() < wait_until_; }

  /// Calls `over` when its wait has ended, unless it is completed before.
  void watch_the_wait(std::function<void()> over) {
    timer_.expires_at(wait_until_);
    timer_.async_wait([over = std::move(over)](boost::system::error_code ec) {
      if (!ec) over();
    });
  }
  /// Called when it has ended in whatever way.
  void when_completed(std::function<void()> gone) { gone_ = std::move(gone); }

 private:
  void on_completed() override {
    timer_.cancel();
    if (auto gone = std::exchange(gone_, nullptr)) gone();
  }

  clock::time_point const wait_until_;
  asio::basic_waitable_timer<clock> timer_;
  std::function<void()> gone_;
};

/// Which is nothing but its deadline and its handler.
using renew_operation = stores::operation<renew_reply>;
using release_operation = stores::operation<release_reply>;
using inspect_operation = stores::operation<std::optional<lease_info>>;
using list_operation = stores::operation<lease_page>;

}  // namespace herdlock::zookeeper
