#include "stores/redis/settings.hpp"

#include <charconv>

namespace herdlock::redis {
namespace {

constexpr milliseconds min_timeout{50};
constexpr milliseconds max_timeout{std::chrono::minutes{10}};
constexpr int max_database = 1'000'000;
constexpr milliseconds max_skew{std::chrono::minutes{1}};
constexpr std::size_t max_prefix_bytes = limits::max_name_bytes;

failure bad_url(settings const& s, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + s.display_name + ": " + why);
}

failure take_database(settings& s, std::string_view text) {
  if (text.empty()) return {};
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), s.database);
  bool whole = ec == std::errc() && end == text.data() + text.size();
  if (whole && s.database >= 0 && s.database <= max_database) return {};
  return bad_url(s, in_quotes(text) + " is not a database number; write one such as 0 or 3");
}

// `//host:port,host:port/mymaster[/db]`
failure take_sentinels(settings& s, store_url& url) {
  s.sentinels = url.hosts;
  if (s.sentinels.empty()) s.sentinels.push_back({url.host, url.port});
  s.sentinel_user = url.take_text("sentinel_user", "");
  s.sentinel_password = url.take_text("sentinel_password", "");
  std::string_view path = url.path;
  if (path.starts_with('/')) path.remove_prefix(1);
  auto const slash = path.find('/');
  s.master_name = path.substr(0, slash);
  if (url.host.empty() || s.master_name.empty()) {
    return bad_url(s, "write the sentinels and the name of their master: " + url.scheme +
                          "://host:26379,host:26379/mymaster");
  }
  if (!s.sentinel_user.empty() && s.sentinel_password.empty()) {
    return bad_url(s, "there is a sentinel_user without a sentinel_password");
  }
  s.host = s.sentinels.front().host;  // until they have told
  s.port = s.sentinels.front().port.value_or(26379);
  return take_database(s, slash == path.npos ? "" : path.substr(slash + 1));
}

failure take_address(settings& s, store_url& url) {
  if (url.scheme.ends_with("+sentinel")) return take_sentinels(s, url);
  if (url.scheme == "redis+unix") {
    s.unix_path = url.path;
    std::string const user = url.take_text("user", "");
    std::string const password = url.take_text("password", "");
    if (s.user.empty()) s.user = user;
    if (s.password.empty()) s.password = password;
    if (s.unix_path.empty() || s.unix_path.front() != '/' || !url.host.empty()) {
      return bad_url(s, "write the absolute path of the socket: redis+unix:/path/of/redis.sock");
    }
    return take_database(s, url.take_text("db", ""));
  }
  s.host = url.host;
  s.port = url.port.value_or(6379);
  if (s.host.empty()) return bad_url(s, "there is no host; write " + url.scheme + "://host:port");
  std::string_view path = url.path;
  if (path.starts_with('/')) path.remove_prefix(1);
  return take_database(s, path);
}

failure take_security(settings& s, store_url& url) {
  if (!url.scheme.starts_with("rediss")) return {};
  auto told = stores::take_tls(url, s.display_name);
  if (told.has_error()) return told.error();
  s.tls = std::move(*told);
  return {};
}

// The value of an unknown dialect is not shown: what stands there may be anything.
failure take_dialect(settings& s, store_url& url) {
  bool const named = url.options.contains("dialect");
  std::string const text = url.take_text("dialect", "herdlock");
  if (text == "plain") s.speaks = dialect::plain;
  if (text == "getset") s.speaks = dialect::getset;
  if (named && s.speaks == dialect::herdlock && text != "herdlock") {
    return bad_url(s, "the dialect is unknown; write herdlock (default), plain or getset");
  }
  // Our own side keys and channels take their names from the key as it is, so a prefix there would
  // only be a longer name.
  if (url.options.contains("prefix") && s.speaks == dialect::herdlock) {
    return bad_url(s, "a prefix needs dialect=plain or dialect=getset; else write it in the names");
  }
  if (url.options.contains("skew") && s.speaks != dialect::getset) {
    return bad_url(s, "a skew needs dialect=getset: no other dialect compares clients' clocks");
  }
  s.prefix = url.take_text("prefix", "");
  if (s.prefix.size() > max_prefix_bytes) {
    return bad_url(s, "the prefix is longer than " + std::to_string(max_prefix_bytes) + " bytes");
  }
  auto const skew = url.take_duration("skew", s.skew);
  if (skew.has_error()) return skew.error();
  s.skew = *skew;
  if (s.skew > max_skew) return bad_url(s, "the skew must be from 0 to 1m");
  return {};
}

}  // namespace

std::string settings::address() const {
  if (!unix_path.empty()) return unix_path;
  bool const v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

failure refuse_single_server_options(settings const& how) {
  if (!how.durable.on() && how.speaks == dialect::herdlock) return {};
  return bad_url(how,
                 "wait_replicas, quarantine and dialect are for a single server or Sentinel; leave "
                 "them out");
}

result<settings> parse_settings(store_url url) {
  settings s;
  s.display_name = url.redacted();
  s.user = url.user;
  s.password = url.password;
  if (auto why = take_address(s, url); why.code) return why;
  if (auto why = take_security(s, url); why.code) return why;
  if (auto why = take_dialect(s, url); why.code) return why;
  auto timeout = url.take_duration("timeout", s.timeout);
  if (timeout.has_error()) return timeout.error();
  s.timeout = *timeout;
  if (s.timeout < min_timeout || s.timeout > max_timeout) {
    return bad_url(s, "the timeout must be from 50ms to 10m");
  }
  auto durable = take_durability(url, s.timeout);
  if (durable.has_error()) return durable.error();
  s.durable = *durable;
  // A user without a password is a mistake that would connect as somebody else.
  if (!s.user.empty() && s.password.empty()) {
    return bad_url(s, "there is a user without a password; write user:password@");
  }
  if (auto why = url.reject_unknown_options(); why.code) return why;
  return s;
}

}  // namespace herdlock::redis
