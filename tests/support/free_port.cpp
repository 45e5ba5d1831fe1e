#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <stdexcept>
#include <support/free_port.hpp>

namespace herdlock_test {
namespace {

constexpr int lowest = 10'240;
constexpr int highest = 32'000;
constexpr int tries = 1000;

// A socket that `use`, bind or connect, has taken to the port; -1 when it refuses.
template <class Use>
int socket_at(int port, Use use) {
  int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error("no socket for a port");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (use(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

struct bound_port {
  int fd;
  std::uint16_t port;
};

bound_port bind_some_port() {
  static thread_local std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> pick(lowest, highest);
  for (int i = 0; i < tries; ++i) {
    int const port = pick(random);
    int const fd = socket_at(port, ::bind);
    if (fd >= 0) return {fd, static_cast<std::uint16_t>(port)};
  }
  throw std::runtime_error("no free loopback port found");
}

}  // namespace

std::uint16_t free_port() {
  auto const found = bind_some_port();
  ::close(found.fd);
  return found.port;
}

std::uint16_t dead_port() { return bind_some_port().port; }

bool listens(std::uint16_t port) {
  int const fd = socket_at(port, ::connect);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

}  // namespace herdlock_test
