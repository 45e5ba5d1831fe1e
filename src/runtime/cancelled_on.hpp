// The caller's cancellation, brought to where an operation or a port wants it.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <memory>
#include <utility>

#include <herdlock/detail/async.hpp>

namespace herdlock::runtime {

/// A cancellation, from any thread, calls `cancel(operation, type)` on the operation's executor()
/// while the operation lives. The slot may keep its handler for longer than the executor lives, so
/// there is nothing of the executor in it: the operation alone has that.
template <class Operation, class Cancel>
void on_cancellation(asio::cancellation_slot slot, std::weak_ptr<Operation> operation,
                     Cancel cancel) {
  if (!slot.is_connected()) return;
  slot.assign([operation = std::move(operation), cancel](asio::cancellation_type type) {
    auto live = operation.lock();
    if (!live) return;
    asio::any_io_executor const executor = live->executor();
    // Moved: the last of it may go with this, and that is the executor's.
    asio::post(executor, [live = std::move(live), cancel, type] { cancel(*live, type); });
  });
}

/// The executor and the signal of one call of a port.
class port_cancellation {
 public:
  explicit port_cancellation(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  asio::any_io_executor const& executor() const { return executor_; }
  asio::cancellation_slot slot() { return signal_.slot(); }
  void emit(asio::cancellation_type type) { signal_.emit(type); }

 private:
  asio::any_io_executor executor_;
  asio::cancellation_signal signal_;
};

/// A port's cancellation is emitted on the store's executor; the caller's may come from any thread.
template <class T>
handler<T> cancelled_on(asio::any_io_executor const& executor, handler<T> done) {
  auto slot = asio::get_associated_cancellation_slot(done);
  if (!slot.is_connected()) return done;
  auto port = std::make_shared<port_cancellation>(executor);
  on_cancellation(slot, std::weak_ptr(port), [](auto& live, auto type) { live.emit(type); });
  auto inner = port->slot();
  auto on_reply = [port = std::move(port), done = std::move(done)](result<T> reply) mutable {
    detail::dispatch_result<T>(port->executor(), std::move(done), std::move(reply));
  };
  return asio::bind_cancellation_slot(inner, std::move(on_reply));
}

}  // namespace herdlock::runtime
