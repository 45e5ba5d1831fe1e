// Many deadlines over one timer; and a timer whose owner may go.
#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <optional>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/types.hpp>

#include "algo/deadline_queue.hpp"

namespace herdlock::stores {

/// Calls `then(self)` at that time, unless the timer is set anew or cancelled or `self` is gone by
/// then. A call that is on its way already is not taken back.
template <class Timer, class Self, class Function>
void run_at(Timer& timer, typename Timer::time_point when, std::weak_ptr<Self> weak,
            Function then) {
  timer.expires_at(when);
  timer.async_wait([weak = std::move(weak), then = std::move(then)](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (!ec && self) then(*self);
  });
}

/// The same after a time.
template <class Timer, class Self, class Function>
void run_after(Timer& timer, milliseconds span, std::weak_ptr<Self> weak, Function then) {
  run_at(timer, Timer::clock_type::now() + span, std::move(weak), std::move(then));
}

/// One timer for many deadlines. All members on the executor. It owns none of its entries, and
/// keeps the context running while there are any.
template <class Clock = clock>
class shared_timer : public std::enable_shared_from_this<shared_timer<Clock>> {
 public:
  using entry = algo::timed<Clock>;
  using time_point = typename Clock::time_point;

  explicit shared_timer(asio::any_io_executor const& executor) : timer_(executor) {}

  /// on_due() is called at `when`, or soon after. Moves it when it is in the queue already.
  void add(entry& one, time_point when) {
    if (closed_) return;
    entries_.add(one, when);
    if (!armed_for_ || entries_.next() < *armed_for_) arm();
  }

  /// Does not move it to a later time.
  void add_no_later(entry& one, time_point when) {
    if (!one.scheduled() || when < one.due()) add(one, when);
  }

  void remove(entry& one) {
    if (!one.scheduled()) return;
    entries_.remove(one);
    if (entries_.empty()) rest();
  }

  /// The one that is due first; null when there is none.
  entry* first() { return entries_.first(); }

  /// Forgets all of them; what is added later is never called.
  void close() {
    closed_ = true;
    entries_.clear();
    armed_for_ = std::nullopt;
    timer_.cancel();
  }

 private:
  // Setting the time again ends the wait that was armed for a later one.
  void arm() {
    armed_for_ = entries_.next();
    run_at(timer_, *armed_for_, this->weak_from_this(), [](auto& self) { self.on_timer(); });
  }

  // Soon, not at once: a caller that starts its next operation at once uses the armed timer again.
  // Armed for longer, it would keep the context running.
  void rest() {
    if (std::exchange(resting_, true)) return;
    asio::post(timer_.get_executor(), [weak = this->weak_from_this()] {
      auto const self = weak.lock();
      if (!self) return;
      self->resting_ = false;
      if (!self->entries_.empty()) return;
      self->armed_for_ = std::nullopt;
      self->timer_.cancel();
    });
  }

  // An entry that throws keeps nobody from being called: the others are, in the next event at the
  // latest.
  void on_timer() {
    armed_for_ = std::nullopt;
    try {
      entries_.run(Clock::now());
    } catch (...) {
      if (!entries_.empty()) arm();
      throw;
    }
    if (!entries_.empty()) arm();
  }

  asio::basic_waitable_timer<Clock> timer_;
  algo::deadline_queue<Clock> entries_;
  std::optional<time_point> armed_for_;
  bool resting_ = false;
  bool closed_ = false;
};

}  // namespace herdlock::stores
