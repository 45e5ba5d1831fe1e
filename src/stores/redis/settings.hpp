// What a store URL says about a Redis server.
#pragma once

#include <cstdint>
#include <string>

#include <herdlock/types.hpp>
#include <herdlock/url.hpp>

namespace herdlock::redis {

enum class encryption { none, tls, tls_unverified };

struct settings {
  std::string display_name;  ///< the URL without its password
  std::string host;
  std::uint16_t port = 6379;
  std::string unix_path;  ///< instead of host and port
  std::string user;
  std::string password;
  int database = 0;
  encryption security = encryption::none;
  std::string authority_file;
  std::string certificate_file;
  std::string key_file;
  milliseconds timeout{2000};

  /// `host:port` or the socket's path, for messages.
  std::string place() const;
};

/// errc::invalid_url for anything that is not understood.
result<settings> parse_settings(store_url url);

}  // namespace herdlock::redis
