// Sockets that a program which this process starts does not get. It would keep the connection open
// when this process has died, and the server would take the dead for the living.
// Why: docs/decisions/library.md#sockets-close-on-exec
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/system/error_code.hpp>
#include <cerrno>

namespace herdlock::stores {

/// Opens one of Asio's sockets or acceptors; it is marked from its first moment on, whichever
/// thread forks.
template <class Socket>
boost::system::error_code open_close_on_exec(Socket& socket,
                                             typename Socket::protocol_type const& protocol) {
  int const made = ::socket(protocol.family(), protocol.type() | SOCK_CLOEXEC, protocol.protocol());
  if (made < 0) return {errno, boost::system::system_category()};
  boost::system::error_code ec;
  socket.assign(protocol, made, ec);
  if (ec) ::close(made);
  return ec;
}

/// Marks one that Asio has opened; nothing when it is closed.
template <class Socket>
void set_close_on_exec(Socket& socket) {
  if (socket.is_open()) ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

}  // namespace herdlock::stores
