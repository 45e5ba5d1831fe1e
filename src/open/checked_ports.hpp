// What is wrong with a request is found here, once for all stores.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <herdlock/backend.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

/// The same ports, behind which a store sees no ttl, back-off or value that is out of bounds: who
/// asks so is refused with errc::invalid_ttl or errc::invalid_value, in an event of its own.
backend checked_ports(backend ports, asio::any_io_executor const& executor);

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
