// `herdlock demo near`: what was asked for, checked.
#pragma once

#include <CLI/App.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <herdlock/types.hpp>
#include <optional>
#include <string>

namespace herdlock::cli {

/// Bounds of the demo.
namespace near_limits {
inline constexpr int max_processes = 64;
inline constexpr milliseconds min_time{1'000};
inline constexpr milliseconds max_time{120'000};
inline constexpr milliseconds min_every{20};
// Where they are not given, and --time is not too short for them.
inline constexpr milliseconds usual_freeze{2'500};
inline constexpr milliseconds usual_every{400};
}  // namespace near_limits

/// As typed.
struct near_arguments {
  std::string store;
  int processes = 8;
  std::optional<int> frozen;
  std::optional<std::string> freeze;
  std::string max_staleness = "1s";
  std::optional<std::string> every;
  std::string time = "10s";
  bool json = false;
};

/// As meant.
struct near_options {
  std::string store_url;
  std::string shown;                      ///< the URL without its password
  boost::asio::ip::tcp::endpoint server;  ///< that the URL names
  std::size_t processes = 0;
  std::size_t frozen = 0;  ///< so many of them, the last ones; none without a freeze
  milliseconds before_freeze{};
  milliseconds freeze{};
  milliseconds after_freeze{};
  milliseconds max_staleness{};
  milliseconds every{};
  bool json = false;

  std::size_t first_frozen() const { return processes - frozen; }
  milliseconds time() const { return before_freeze + freeze + after_freeze; }
  std::size_t most_changes() const { return static_cast<std::size_t>(time() / every + 1); }
};

CLI::App* add_near_command(CLI::App& demo, near_arguments& arguments);

/// Throws command_error (usage) naming the argument that is wrong.
near_options check(near_arguments const& arguments);

/// The URL with this port of 127.0.0.1 in the place of its server.
std::string through_port(std::string const& url, std::uint16_t port);

}  // namespace herdlock::cli
