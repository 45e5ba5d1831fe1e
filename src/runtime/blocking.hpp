// The blocking façade over asynchronous operations.
#pragma once

#include <future>
#include <memory>

#include <herdlock/detail/async.hpp>

#include "runtime/store_context.hpp"

namespace herdlock::runtime {

/// Starts `start(handler<T>)` and blocks until it completed. Every operation is bounded by its own
/// deadline, so this is too. A store that is torn down underneath gives errc::canceled.
template <class T, class Start>
result<T> wait_for(detail::store_context const& context, Start&& start) {
  context.require_other_thread();
  auto promise = std::make_shared<std::promise<result<T>>>();
  auto answer = promise->get_future();
  std::forward<Start>(start)(handler<T>(
      [promise = std::move(promise)](result<T> r) { promise->set_value(std::move(r)); }));
  try {
    return answer.get();
  } catch (std::future_error const&) {
    return context.core()->closed_failure();
  }
}

}  // namespace herdlock::runtime
