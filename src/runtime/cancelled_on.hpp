// The caller's cancellation, brought to where a port wants it.
#pragma once

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <memory>
#include <utility>

#include <herdlock/detail/async.hpp>

namespace herdlock::runtime {

/// A port's cancellation is emitted on the store's executor; the caller's may come from any thread.
template <class T>
handler<T> cancelled_on(asio::any_io_executor const& executor, handler<T> done) {
  auto slot = asio::get_associated_cancellation_slot(done);
  if (!slot.is_connected()) return done;
  auto signal = std::make_shared<asio::cancellation_signal>();
  slot.assign([weak = std::weak_ptr(signal), executor](asio::cancellation_type type) {
    // It goes with the operation: after that the executor may be gone, too.
    if (auto live = weak.lock()) asio::post(executor, [live, type] { live->emit(type); });
  });
  auto inner = signal->slot();
  auto on_reply = [signal = std::move(signal), executor,
                   done = std::move(done)](result<T> reply) mutable {
    detail::dispatch_result<T>(executor, std::move(done), std::move(reply));
  };
  return asio::bind_cancellation_slot(inner, std::move(on_reply));
}

}  // namespace herdlock::runtime
