// A handler that is called on its own executor, wherever the one before it is called.
#pragma once

#include <utility>

#include <herdlock/detail/async.hpp>

namespace herdlock::runtime {

template <class T>
handler<T> on_own_executor(asio::any_io_executor const& fallback, handler<T> done) {
  auto executor = asio::get_associated_executor(done, fallback);
  return [executor = std::move(executor), done = std::move(done)](result<T> reply) mutable {
    asio::dispatch(executor, detail::bound_completion<T>{std::move(done), std::move(reply)});
  };
}

}  // namespace herdlock::runtime
