// Loopback ports that nobody listens on.
#pragma once

#include <cstdint>
#include <vector>

namespace herdlock_test {

/// Ports of 127.0.0.1 for one user. While it lives nobody else who asks here, in any process, is
/// given them: a server that has stopped finds its port free when it starts again.
class kept_ports {
 public:
  kept_ports() = default;
  kept_ports(kept_ports&&) = default;
  kept_ports& operator=(kept_ports&&) = delete;
  ~kept_ports();

  /// A TCP port that could be bound a moment ago, below the range that the kernel gives to outgoing
  /// connections: a client that retries a stopped server on a port of that range can be connected
  /// to itself.
  std::uint16_t add();

 private:
  std::vector<int> claims_;
};

/// How often a server is started on a free port: another program may take it between choice and
/// bind.
inline constexpr int start_attempts = 5;

/// One that refuses connections as long as this process lives: it is bound, so no server that
/// another test starts gets it.
std::uint16_t dead_port();

/// Whether 127.0.0.1 takes connections on that port: cheaper to ask than by a client's program.
bool listens(std::uint16_t port);

}  // namespace herdlock_test
