#include "stores/etcd/settings.hpp"

#include <charconv>

namespace herdlock::etcd {
namespace {

constexpr milliseconds min_timeout{50};
constexpr milliseconds max_timeout{std::chrono::minutes{10}};
constexpr std::size_t max_members = 16;
constexpr std::size_t max_connections = 256;
constexpr std::size_t most_pending = 1'000'000;
constexpr std::uint16_t default_port = 2379;

failure bad_url(settings const& s, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + s.display_name + ": " + why);
}

failure take_members(settings& s, store_url const& url) {
  if (url.hosts.empty()) {
    s.members.push_back({url.host, url.port.value_or(default_port)});
  }
  for (auto const& one : url.hosts) {
    s.members.push_back({one.host, one.port.value_or(default_port)});
  }
  for (auto const& one : s.members) {
    if (one.host.empty()) {
      return bad_url(s, "a host is missing; write " + url.scheme + "://host:2379,host:2379");
    }
  }
  if (s.members.size() > max_members) {
    return bad_url(s, "more than " + std::to_string(max_members) + " members; name some of them");
  }
  if (!url.path.empty() && url.path != "/") {
    return bad_url(s, "etcd has no databases; leave the path out and write it in the names");
  }
  return {};
}

failure take_security(settings& s, store_url& url) {
  if (url.scheme != "etcds") return {};
  auto told = stores::take_tls(url, s.display_name);
  if (told.has_error()) return told.error();
  s.tls = std::move(*told);
  return {};
}

failure take_count(settings const& s, store_url& url, char const* option, std::size_t most,
                   std::size_t& count) {
  std::string const text = url.take_text(option, std::to_string(count));
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), count);
  bool const whole = ec == std::errc() && end == text.data() + text.size();
  if (whole && count >= 1 && count <= most) return {};
  return bad_url(
      s, std::string("option '") + option + "' must be a number from 1 to " + std::to_string(most));
}

}  // namespace

std::string member::address() const {
  bool const v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

result<settings> parse_settings(store_url url) {
  settings s;
  s.display_name = url.redacted();
  s.user = url.user;
  s.password = url.password;
  if (auto why = take_members(s, url); why.code) return why;
  if (auto why = take_security(s, url); why.code) return why;
  auto const timeout = url.take_duration("timeout", s.timeout);
  if (timeout.has_error()) return timeout.error();
  s.timeout = *timeout;
  if (s.timeout < min_timeout || s.timeout > max_timeout) {
    return bad_url(s, "the timeout must be from 50ms to 10m");
  }
  if (auto why = take_count(s, url, "connections", max_connections, s.connections); why.code) {
    return why;
  }
  if (auto why = take_count(s, url, "max_pending", most_pending, s.max_pending); why.code) {
    return why;
  }
  if (s.user.empty() != s.password.empty()) {
    return bad_url(s, "a user and a password go together; write user:password@");
  }
  if (auto why = url.reject_unknown_options(); why.code) return why;
  return s;
}

}  // namespace herdlock::etcd
