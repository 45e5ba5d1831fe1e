// Store URLs, taken apart once and the same way for every backend. For those who write a store
// (herdlock/url_scheme.hpp); to open one, herdlock/open.hpp is enough.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

struct host_and_port {
  std::string host;
  std::optional<std::uint16_t> port;
  friend bool operator==(host_and_port const&, host_and_port const&) = default;
};

/// `scheme:path`, `scheme://user:password@host:port/path?option=value`, percent-decoded; some
/// schemes take more than one host: `scheme://host:port,host:port/path`.
struct store_url {
  std::string scheme;
  std::string user;
  std::string password;
  std::string host;
  std::optional<std::uint16_t> port;
  std::vector<host_and_port> hosts;  ///< all of them when there are two or more; host is the first
  std::string path;                  ///< with its leading '/' in the `//` form
  std::map<std::string, std::string, std::less<>> options;
  /// The names that the store has asked for by take_duration() and take_text().
  std::vector<std::string> known_options{};

  /// Fails with errc::invalid_url; the message shows the URL without its password.
  static result<store_url> parse(std::string_view text);

  /// The URL for messages: the password, a user without one, and the value of each option that is
  /// not known to be harmless are replaced by `***`.
  std::string redacted() const;

  /// An option that is a duration (`250ms`, `2s`, `5m`), removed from `options` so that what is
  /// left over can be reported as unknown.
  result<milliseconds> take_duration(std::string_view name, milliseconds fallback);
  /// The same for a text.
  std::string take_text(std::string_view name, std::string_view fallback);
  /// Fails with errc::invalid_url naming any option that nobody took, and the known one that it is
  /// near to.
  failure reject_unknown_options() const;
};

/// `250ms`, `2s`, `5m`, `1h`, `7d`, or a plain number of milliseconds; errc::invalid_value
/// otherwise.
result<milliseconds> parse_duration(std::string_view text);
/// For messages: what parse_duration() reads, exactly, in the largest unit that loses nothing.
std::string duration_text(milliseconds time);

}  // namespace v0
}  // namespace herdlock
