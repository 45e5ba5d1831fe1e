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

bool can_bind(int port) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::runtime_error("no socket for a free port");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

std::uint16_t free_port() {
  static thread_local std::mt19937 random{std::random_device{}()};
  std::uniform_int_distribution<int> pick(lowest, highest);
  for (int i = 0; i < tries; ++i) {
    int port = pick(random);
    if (can_bind(port)) return static_cast<std::uint16_t>(port);
  }
  throw std::runtime_error("no free loopback port found");
}

}  // namespace herdlock_test
