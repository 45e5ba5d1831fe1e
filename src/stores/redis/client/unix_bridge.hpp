// From a loopback port to a Unix socket, inside this process, for a client library that only
// connects to TCP endpoints.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <herdlock/detail/async.hpp>

namespace herdlock::redis {

/// Connects to the Unix socket first, then listens on 127.0.0.1 for exactly one peer: the one
/// whose address `is_ours` confirms. Any other process that finds the port is dropped unread, and
/// the port is closed as soon as ours is in. All calls and callbacks on the executor.
class unix_bridge {
 public:
  using endpoint = asio::ip::tcp::endpoint;
  virtual ~unix_bridge() = default;

  /// `ready(ec, port)` is called once, later: with why the socket could not be connected to, or
  /// with the port that is now open.
  static std::shared_ptr<unix_bridge> open(
      asio::any_io_executor const& executor, std::string const& path,
      std::function<bool(endpoint const&)> is_ours,
      std::function<void(boost::system::error_code, std::uint16_t)> ready);

  /// Closes both sides; `is_ours` and `ready` are not called any more.
  virtual void close() = 0;
};

}  // namespace herdlock::redis
