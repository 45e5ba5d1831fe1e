// Loopback ports that nobody listens on.
#pragma once

#include <cstdint>

namespace herdlock_test {

/// A TCP port of 127.0.0.1 that could be bound a moment ago, below the range that the kernel gives
/// to outgoing connections: a client that retries a stopped server on a port of that range can
/// be connected to itself.
std::uint16_t free_port();

/// How often a server is started on a free port: another process may take it between choice and
/// bind.
inline constexpr int start_attempts = 5;

/// One that refuses connections as long as this process lives: it is bound, so no server that
/// another test starts gets it.
std::uint16_t dead_port();

/// Whether 127.0.0.1 takes connections on that port: cheaper to ask than by a client's program.
bool listens(std::uint16_t port);

}  // namespace herdlock_test
