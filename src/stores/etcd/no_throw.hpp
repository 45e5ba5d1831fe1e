// How this store's coroutines wait.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <herdlock/detail/async.hpp>

namespace herdlock::etcd {

/// A coroutine's wait that gives its error code instead of throwing it.
inline constexpr auto no_throw = asio::as_tuple(asio::use_awaitable);

}  // namespace herdlock::etcd
