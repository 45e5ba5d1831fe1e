// How the blocking façade waits for asynchronous operations: locks, elections and caches alike.
#pragma once

#include <herdlock/detail/boost_version.hpp>

#include <atomic>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <functional>
#include <future>
#include <memory>
#include <stop_token>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

class store_context;

/// The compiled half of a blocking call: what it asks of the store that it waits for.
class blocking_wait {
 public:
  /// Stops the process on the store's own thread, where the call would wait for itself. In a child
  /// of fork() nothing of the store is touched.
  explicit blocking_wait(store_context const& context);

  /// May nobody run the executor? Not where the store has a thread of its own.
  bool may_be_given_up() const;
  /// Returns when the call is answered; false when the executor ran nothing for as long as the
  /// store's patience (store_context::patience), and no answer came.
  bool until(std::function<bool(milliseconds)> const& answered_within) const;
  /// Emits the cancellation on the executor, as soon as somebody runs it.
  void cancel_once_run(std::shared_ptr<boost::asio::cancellation_signal> signal) const;

  /// errc::forked in a child of fork(), where nobody would ever answer.
  failure inherited() const;
  failure nobody_runs_it() const;
  failure stopped_before_it_began() const;
  failure closed() const;

 private:
  store_context const& context_;
};

template <class T>
struct blocking_call {
  std::promise<result<T>> answer;
  boost::asio::cancellation_signal give_up;
  std::atomic<bool> over{false};

  /// True for who is first: the answer, or the caller who gives up.
  bool end() { return !over.exchange(true); }
};

/// The handler of an answer whose caller has gone: it does nothing any more.
struct dropped_answer {
  template <class Answer>
  void operator()(Answer const&) const {}
};

/// Calls `start` with a handler of result<T>, and blocks until that was called. Every operation is
/// bounded by its own deadline, so this is too. If nobody runs the user's executor it ends with
/// errc::timed_out, and the operation is cancelled as soon as somebody does: a wait leaves its
/// queue. An operation that cannot be cancelled (a put, an invalidation, a release) is carried out
/// then, and an answer that comes all the same goes to `late`: a lease that it drops is given back.
/// A store that is torn down underneath gives errc::canceled, and one that was opened before fork()
/// errc::forked. A stop cancels the operation, whose answer is waited for; nothing is begun when it
/// was there first (errc::canceled).
template <class T, class Start, class Late = dropped_answer>
result<T> wait_for(store_context const& context, Start&& start, Late late = {},
                   std::stop_token stop = {}) {
  blocking_wait const wait(context);
  if (failure why = wait.inherited(); why.code) return why;
  if (stop.stop_requested()) return wait.stopped_before_it_began();
  auto call = std::make_shared<blocking_call<T>>();
  auto answer = call->answer.get_future();
  // The handler alone keeps the call: one that is dropped uncalled breaks the promise.
  std::weak_ptr const under_way(call);
  bool const can_end_early = wait.may_be_given_up() || stop.stop_possible();
  auto const slot = can_end_early ? call->give_up.slot() : boost::asio::cancellation_slot();
  std::forward<Start>(start)(
      boost::asio::bind_cancellation_slot(slot, [call = std::move(call), late](result<T>&& r) {
        if (!call->end()) return late(std::move(r));
        try {
          call->answer.set_value(std::move(r));
        } catch (...) {
          call->answer.set_value(copy_failure());
        }
      }));
  std::stop_callback const on_stop(std::move(stop), [&] {
    if (auto const open = under_way.lock()) wait.cancel_once_run({open, &open->give_up});
  });
  auto const answered_within = [&](milliseconds limit) {
    return answer.wait_for(limit) == std::future_status::ready;
  };
  if (!wait.until(answered_within)) {
    if (auto const open = under_way.lock(); open && open->end()) {
      wait.cancel_once_run({open, &open->give_up});
      return wait.nobody_runs_it();
    }
  }
  try {
    return answer.get();
  } catch (std::future_error const&) {
    return wait.closed();
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
