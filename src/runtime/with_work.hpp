// A handler whose own context goes on running while its operation is away in the store.
#pragma once

#include <boost/asio/prefer.hpp>
#include <utility>

#include <herdlock/detail/async.hpp>

namespace herdlock::runtime {

template <class T>
handler<T> with_work(asio::any_io_executor const& fallback, handler<T> done) {
  auto executor = asio::prefer(asio::get_associated_executor(done, fallback),
                               asio::execution::outstanding_work.tracked);
  return [executor = std::move(executor), done = std::move(done)](result<T> reply) mutable {
    asio::dispatch(executor, detail::bound_completion<T>{std::move(done), std::move(reply)});
  };
}

}  // namespace herdlock::runtime
