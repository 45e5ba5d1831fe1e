#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <support/free_port.hpp>

namespace herdlock_test {
namespace {

constexpr int lowest = 10'240;
constexpr int highest = 32'000;
constexpr int tries = 1000;

int new_socket(int family) {
  int const fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error("no socket for a port");
  return fd;
}

int closed_unless(bool good, int fd) {
  if (good) return fd;
  ::close(fd);
  return -1;
}

// A socket that `use`, bind or connect, has taken to the port; -1 when it refuses.
template <class Use>
int socket_at(int port, Use use) {
  int const fd = new_socket(AF_INET);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return closed_unless(use(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, fd);
}

// A socket that is bound to a name made of the port, in no folder: one process can have it, and it
// goes with that. -1 when another has it.
int claim_of(int port) {
  int const fd = new_socket(AF_UNIX);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  auto const name = "herdlock-test-port-" + std::to_string(port);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return closed_unless(::bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0, fd);
}

struct bound_port {
  std::uint16_t port;
  int claim;
  int fd;
};

bound_port bind_some_port() {
  static thread_local std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> pick(lowest, highest);
  for (int i = 0; i < tries; ++i) {
    int const port = pick(random);
    int const claim = claim_of(port);
    if (claim < 0) continue;
    int const fd = socket_at(port, ::bind);
    if (fd >= 0) return {static_cast<std::uint16_t>(port), claim, fd};
    ::close(claim);
  }
  throw std::runtime_error("no free loopback port found");
}

}  // namespace

kept_ports::~kept_ports() {
  for (int const claim : claims_) ::close(claim);
}

std::uint16_t kept_ports::add() {
  claims_.reserve(claims_.size() + 1);
  auto const found = bind_some_port();
  ::close(found.fd);
  claims_.push_back(found.claim);
  return found.port;
}

std::uint16_t dead_port() { return bind_some_port().port; }

bool listens(std::uint16_t port) {
  int const fd = socket_at(port, ::connect);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

}  // namespace herdlock_test
