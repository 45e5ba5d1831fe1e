// An acquisition that waits for its resource, or is about to be decided.
#pragma once

#include <algorithm>
#include <boost/asio/basic_waitable_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <herdlock/backend.hpp>

#include "stores/common/pending_operations.hpp"

namespace herdlock::stores {

class waiter;

/// Those of one store who wait.
class waiter_queue {
 public:
  virtual ~waiter_queue() = default;
  /// It has been completed, by whomever. On the executor; throws nothing.
  virtual void on_left(waiter& who) = 0;
};

class waiter final : public operation<acquire_reply> {
 public:
  /// It is late when its wait has been over for `answer_time`.
  waiter(std::shared_ptr<pending_operations> const& pending, order<acquire_reply> what,
         acquire_request asked, milliseconds answer_time)
      : operation(pending, std::move(what), end_of(asked.wait) + answer_time),
        request(std::move(asked)),
        until(deadline() - answer_time),
        timer_(pending->executor()) {}

  acquire_request const request;
  clock::time_point const until;  ///< of its wait
  std::weak_ptr<waiter_queue> queue;
  std::int64_t entry = 0;  ///< its number, where the queue has numbers

  bool waits() const { return request.wait > milliseconds{0}; }

  /// `over` is called at the end of its wait, if it waits and has not been completed before.
  void at_the_end(std::function<void()> over) {
    if (!waits()) return;
    timer_.expires_at(until);
    timer_.async_wait(
        [self = shared_from_this(), over = std::move(over)](boost::system::error_code ec) {
          if (!ec && !self->completed()) over();
        });
  }

 private:
  static clock::time_point end_of(milliseconds wait) {
    return clock::now() + std::clamp(wait, milliseconds{0}, limits::max_ttl);
  }

  void on_completed() override {
    timer_.cancel();
    if (auto const at = queue.lock()) at->on_left(*this);
  }

  asio::basic_waitable_timer<clock> timer_;
};

}  // namespace herdlock::stores
