// The answers of handles that a child of fork() has inherited.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include <herdlock/detail/async.hpp>

#include "runtime/store_core.hpp"

namespace herdlock::runtime {

/// errc::forked in a child of the process that has opened the store; success there.
failure why_inherited(store_core const& home);

/// On a thread of its own, or here where none is to be had. What it throws is dropped.
void run_apart(std::function<void()> call);

/// On the handler's own executor, if it has one that is not the store's: that one has no thread
/// here, and perhaps a mutex that nobody unlocks.
template <class T>
void answer_in_child(asio::any_io_executor const& home, handler<T> done, failure why) {
  auto const only = std::make_shared<handler<T>>(std::move(done));
  run_apart([home, only, why = std::move(why)] {
    asio::any_completion_executor const none;
    auto const own = asio::get_associated_executor(*only, none);
    detail::bound_completion<T> last{std::move(*only), why};
    bool const is_the_stores = own == asio::any_completion_executor(std::nothrow, home);
    if (!own || is_the_stores) return last();
    asio::dispatch(own, std::move(last));
  });
}

/// True, and the handler is answered, in a child of fork().
template <class T>
bool refused_in_child(store_core const& home, handler<T>& done) {
  if (!home.inherited()) return false;
  answer_in_child<T>(home.executor(), std::move(done), why_inherited(home));
  return true;
}

}  // namespace herdlock::runtime
