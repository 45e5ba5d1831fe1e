// Operations that wait in a memory space, and the store handle they came from.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <herdlock/detail/async.hpp>
#include <herdlock/types.hpp>
#include <memory>
#include <utility>

namespace herdlock::memory {

/// The handle's side of a space: its executor and its one timer. The timer is touched on the
/// executor only; the two numbers are guarded by the space's mutex.
struct endpoint {
  explicit endpoint(asio::any_io_executor const& ex) : executor(ex), timer(ex) {}

  asio::any_io_executor executor;
  asio::basic_waitable_timer<clock> timer;
  std::size_t waiting = 0;
  clock::time_point armed_for = clock::time_point::max();
};

template <class T>
struct waiter {
  std::shared_ptr<endpoint> home;
  std::uint64_t id;
  handler<T> done;
};

// Runs on the waiter's own executor. Only there may its cancellation slot be touched: another
// thread's release may have ended the wait while this executor was emitting the cancellation. The
// waiter was out of the queue by then, so the cancellation found nothing and the result stands.
template <class T>
struct delivery {
  asio::any_io_executor executor;
  handler<T> done;
  result<T> outcome;

  void operator()() {
    asio::get_associated_cancellation_slot(done).clear();
    detail::dispatch_result<T>(executor, std::move(done), std::move(outcome));
  }
};

/// Ends a wait, from any thread. The caller has taken the waiter out of its queue.
template <class T>
void complete(waiter<T> w, result<T> outcome) {
  --w.home->waiting;
  asio::post(w.home->executor,
             delivery<T>{w.home->executor, std::move(w.done), std::move(outcome)});
}

}  // namespace herdlock::memory
