// The one shape of every asynchronous operation: a public template of a few lines over a compiled
// function that takes a type-erased handler.
#pragma once

#include <boost/asio/any_completion_executor.hpp>
#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

#include <herdlock/error.hpp>

namespace herdlock {

namespace asio = boost::asio;

/// The compiled side's handler: called exactly once, never from inside the initiating call.
template <class T>
using handler = asio::any_completion_handler<void(result<T>)>;

namespace detail {

// Carries the executor that asio::cancel_after and friends run their timers on.
template <class Start>
struct initiation {
  using executor_type = asio::any_io_executor;
  executor_type executor;
  Start start;

  executor_type get_executor() const noexcept { return executor; }

  template <class Handler>
  void operator()(Handler&& h) {
    std::move(start)(std::forward<Handler>(h));
  }
};

/// Starts `start(handler<T>)` under any completion token. `start` is called once.
template <class T, class Start, class Token>
auto initiate(asio::any_io_executor executor, Start start, Token&& token) {
  return asio::async_initiate<Token, void(result<T>)>(
      initiation<Start>{std::move(executor), std::move(start)}, token);
}

template <class T>
struct bound_completion {
  handler<T> h;
  result<T> r;
  void operator()() { std::move(h)(std::move(r)); }
};

/// What a user's code has thrown leaves in an event of its own: nothing of ours is left in the
/// middle. To be called in a catch block.
inline void rethrow_later(asio::any_io_executor const& executor) {
  asio::post(executor, [thrown = std::current_exception()] { std::rethrow_exception(thrown); });
}

/// Completes on the handler's own executor, at once if this is it: for use in event handlers.
/// Whatever the handler throws leaves on `fallback`, later.
template <class T>
void dispatch_result(asio::any_io_executor const& fallback, handler<T> h, result<T> r) {
  auto executor = asio::get_associated_executor(h, fallback);
  try {
    asio::dispatch(executor, bound_completion<T>{std::move(h), std::move(r)});
  } catch (...) {
    rethrow_later(fallback);
  }
}

/// Completes on the handler's own executor, later: for results that are known inside the
/// initiating call. `through` is any executor; the completion passes through its queue, since an
/// erased completion executor cannot promise not to run things at once.
template <class T>
void post_result(asio::any_io_executor const& through, handler<T> h, result<T> r) {
  asio::post(through, [through, h = std::move(h), r = std::move(r)]() mutable {
    dispatch_result<T>(through, std::move(h), std::move(r));
  });
}

}  // namespace detail
}  // namespace herdlock
