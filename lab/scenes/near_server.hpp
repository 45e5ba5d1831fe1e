// The server that `near` puts a relay in front of, and the way through that.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <herdlock/url.hpp>
#include <string>

#include "terminal/exit_code.hpp"

namespace herdlock::lab {

struct near_server {
  std::string host;
  std::uint16_t port = 0;
  std::string shown;  ///< both, as a URL has them

  /// Throws command_error (usage) for what is not one Redis server over plain TCP at an address.
  static near_server of(std::string const& text);
};

/// The URL with this address in the place of its server.
inline std::string led_to(std::string const& address, std::string const& url) {
  auto const begin = url.find("://") + 3;
  auto const end = std::min(url.find_first_of("/?#", begin), url.size());
  auto const at = url.rfind('@', end);
  auto const host = at == std::string::npos || at < begin ? begin : at + 1;
  return url.substr(0, host) + address + url.substr(end);
}

inline near_server near_server::of(std::string const& text) {
  auto const refuse = [](std::string const& why) {
    throw cli::command_error(cli::exit_code::usage, why);
  };
  constexpr char const* way_out =
      "use --store redis://HOST:PORT (redis-server --port 7777 starts one)";
  if (text.empty()) refuse(fmt::format("near needs a Redis server: {}", way_out));
  store_url const url = cli::value_or_raise(store_url::parse(text));
  if (url.scheme != "redis" || !url.hosts.empty() || url.host.empty()) {
    refuse(
        fmt::format("--store {}: the scene puts a relay in front of one Redis server over plain "
                    "TCP; {}",
                    url.redacted(), way_out));
  }
  // Names are the library's to look up, and the relay is the scene's.
  boost::system::error_code code;
  std::string const host = url.host == "localhost" ? "127.0.0.1" : url.host;
  auto const address = boost::asio::ip::make_address(host, code);
  if (code) {
    refuse(
        fmt::format("--store {}: the scene's relay needs the address of {}; `getent hosts {}` "
                    "tells it",
                    url.redacted(), url.host, url.host));
  }
  auto const port = url.port.value_or(6379);
  auto const in_url = address.is_v6() ? fmt::format("[{}]", host) : host;
  return {host, port, fmt::format("{}:{}", in_url, port)};
}

}  // namespace herdlock::lab
