// The blocking façade over asynchronous operations.
#pragma once

#include <atomic>
#include <future>
#include <memory>

#include <herdlock/detail/async.hpp>

#include "runtime/store_context.hpp"

namespace herdlock::runtime {

/// How long an executor of the user's may do nothing at all until a blocking call takes it that
/// nobody runs it: two time limits of a store, and one second.
inline constexpr milliseconds longest_silence{5000};

/// False when the executor has not run anything in `silence` before the answer came.
template <class T>
bool answered_by_living(asio::any_io_executor const& executor, std::future<T> const& answer,
                        milliseconds silence) {
  for (;;) {
    auto const beat = std::make_shared<std::atomic<bool>>(false);
    asio::post(executor, [beat] { beat->store(true); });
    if (answer.wait_for(silence) == std::future_status::ready) return true;
    if (!beat->load()) return false;
  }
}

/// Starts `start(handler<T>)` and blocks until it completed. Every operation is bounded by its own
/// deadline, so this is too; where nobody runs the user's executor, by `silence`: what comes of the
/// operation later is dropped, and a lease given back. A store that is torn down underneath gives
/// errc::canceled.
template <class T, class Start>
result<T> wait_for(detail::store_context const& context, Start&& start,
                   milliseconds silence = longest_silence) {
  context.require_other_thread();
  auto promise = std::make_shared<std::promise<result<T>>>();
  auto answer = promise->get_future();
  std::forward<Start>(start)(handler<T>(
      [promise = std::move(promise)](result<T> r) { promise->set_value(std::move(r)); }));
  if (!context.has_own_thread() && !answered_by_living(context.executor(), answer, silence)) {
    return make_failure(errc::timed_out, "nobody runs the executor of store " +
                                             context.core()->display_name() +
                                             ": a blocking call needs a thread that does");
  }
  try {
    return answer.get();
  } catch (std::future_error const&) {
    return context.core()->closed_failure();
  }
}

}  // namespace herdlock::runtime
