// A blocking RESP2 connection of a few lines, independent of the client under test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock_test {

/// Throws std::runtime_error where the server cannot be reached.
class redis_line {
 public:
  redis_line(std::string const& host, std::uint16_t port);
  ~redis_line();
  redis_line(redis_line const&) = delete;
  redis_line& operator=(redis_line const&) = delete;

  /// The reply as redis_server::command() renders it. Throws std::runtime_error when there is none
  /// within 5 s.
  std::string command(std::vector<std::string> const& arguments);

 private:
  void send(std::string_view text);
  void fill();
  std::string line();
  std::string bulk(long size);
  std::string list(long size);
  std::string reply();

  int fd_ = -1;
  std::string buffer_;
};

}  // namespace herdlock_test
