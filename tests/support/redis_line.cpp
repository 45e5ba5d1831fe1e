#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <support/redis_line.hpp>
#include <utility>

namespace herdlock_test {

redis_line::redis_line(std::string const& host, std::uint16_t port) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  auto const service = std::to_string(port);
  if (::getaddrinfo(host.c_str(), service.c_str(), &wanted, &found) != 0) found = nullptr;
  std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> const all(found, &::freeaddrinfo);
  for (auto const* one = found; one && fd_ < 0; one = one->ai_next) {
    fd_ = ::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || ::connect(fd_, one->ai_addr, one->ai_addrlen) == 0) continue;
    ::close(std::exchange(fd_, -1));
  }
  if (fd_ < 0) throw std::runtime_error("cannot connect to the redis-server at " + host);
  timeval limit{5, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

redis_line::~redis_line() { ::close(fd_); }

std::string redis_line::command(std::vector<std::string> const& arguments) {
  std::string text = "*" + std::to_string(arguments.size()) + "\r\n";
  for (auto const& a : arguments) text += "$" + std::to_string(a.size()) + "\r\n" + a + "\r\n";
  send(text);
  return reply();
}

// A scene notes a signal, and looks at it when the command is over.
void redis_line::send(std::string_view text) {
  while (!text.empty()) {
    ssize_t const n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error("the redis-server does not take a command");
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void redis_line::fill() {
  char chunk[4096];
  ssize_t n = -1;
  do n = ::recv(fd_, chunk, sizeof chunk, 0);
  while (n < 0 && errno == EINTR);
  if (n <= 0) throw std::runtime_error("the redis-server does not answer");
  buffer_.append(chunk, static_cast<std::size_t>(n));
}

std::string redis_line::line() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) fill();
  std::string text = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return text;
}

std::string redis_line::bulk(long size) {
  if (size < 0) return "(nil)";
  auto const bytes = static_cast<std::size_t>(size);
  while (buffer_.size() < bytes + 2) fill();
  std::string text = buffer_.substr(0, bytes);
  buffer_.erase(0, bytes + 2);
  return text;
}

std::string redis_line::list(long size) {
  if (size < 0) return "(nil)";
  std::string text;
  for (long i = 0; i < size; ++i) text += (i ? "\n" : "") + reply();
  return text;
}

std::string redis_line::reply() {
  std::string const head = line();
  if (head[0] == '$') return bulk(std::stol(head.substr(1)));
  if (head[0] == '*') return list(std::stol(head.substr(1)));
  return head.substr(1);
}

}  // namespace herdlock_test
