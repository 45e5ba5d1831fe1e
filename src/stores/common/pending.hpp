// The caller's end of an operation that is under way.
#pragma once

#include <boost/asio/associated_cancellation_slot.hpp>
#include <utility>

#include <herdlock/detail/async.hpp>
#include <herdlock/error.hpp>

namespace herdlock::stores {

/// A handler, which is called once, and its cancellation slot, which is ours until then. All
/// members on the executor that the slot is emitted on; what comes behind the first completion is
/// ignored.
template <class T>
class pending {
 public:
  explicit pending(handler<T> done) : done_(std::move(done)) {}
  pending(pending&& other) noexcept
      : done_(std::exchange(other.done_, nullptr)),
        cancellable_(std::exchange(other.cancellable_, false)) {}
  pending& operator=(pending&&) = delete;

  bool open() const { return static_cast<bool>(done_); }

  /// Calls `canceled` when the caller cancels it. That is inside of the slot's own handler, which
  /// the completion of it ends: see that the object of the call stays alive.
  template <class Function>
  void on_cancel(Function canceled) {
    auto slot = asio::get_associated_cancellation_slot(done_);
    if (!slot.is_connected()) return;
    cancellable_ = true;
    slot.assign([canceled = std::move(canceled)](asio::cancellation_type) mutable { canceled(); });
  }

  /// The handler, for whoever calls it in another way; empty when it was called already.
  handler<T> take() {
    auto done = std::exchange(done_, nullptr);
    if (std::exchange(cancellable_, false)) asio::get_associated_cancellation_slot(done).clear();
    return done;
  }

  /// In an event of its own: what the handler throws, or how long it takes, is nothing to whoever
  /// completes it.
  void post(asio::any_io_executor const& executor, result<T> outcome) {
    if (auto done = take()) detail::post_result<T>(executor, std::move(done), std::move(outcome));
  }

  /// In the present event, of which it must be the last thing.
  void dispatch(asio::any_io_executor const& executor, result<T> outcome) {
    if (auto done = take()) {
      detail::dispatch_result<T>(executor, std::move(done), std::move(outcome));
    }
  }

 private:
  handler<T> done_;
  bool cancellable_ = false;
};

}  // namespace herdlock::stores
