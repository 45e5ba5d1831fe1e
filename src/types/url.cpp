#include <herdlock/url.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

#include "types/near_name.hpp"

namespace herdlock {
inline namespace v0 {
namespace {

constexpr std::size_t max_url_bytes = 4096;
constexpr std::size_t max_hosts = 64;
constexpr std::string_view schemes_with_many_hosts[] = {
    "redlock", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "zk",
    "etcd",    "etcds"};

bool takes_many_hosts(std::string_view scheme) {
  return std::ranges::find(schemes_with_many_hosts, scheme) != std::end(schemes_with_many_hosts);
}

bool is_alnum(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_encode(std::string_view text, std::string_view plain) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (is_alnum(c) || plain.find(c) != std::string_view::npos || (c & 0x80) != 0) {
      out += c;
      continue;
    }
    auto byte = static_cast<unsigned char>(c);
    out += {'%', digits[byte >> 4], digits[byte & 15]};
  }
  return out;
}

// An option that is mistyped (`pasword=…`) may hold anything, so only what is known is shown, and
// only when it looks as it should.
bool may_be_shown(std::string_view key, std::string_view value) {
  if (key == "mode") {
    return value == "table" || value == "row" || value == "named" || value == "advisory";
  }
  if (key == "sslmode") {
    return value == "disable" || value == "allow" || value == "prefer" || value == "require" ||
           value == "verify-ca" || value == "verify-full";
  }
  if (key == "verify") return value == "full" || value == "none";
  if (key == "dialect") return value == "herdlock" || value == "plain" || value == "getset";
  if (key == "names") return value == "curator" || value == "kazoo";
  if (key == "network") return value == "refuse" || value == "allow";
  if (key == "acl") return value == "creator" || value == "open";
  if (key == "auth") return value == "digest";
  if (key == "tls" || key == "quarantine") return value == "on" || value == "off";
  constexpr std::string_view harmless[] = {"timeout",        "skew",          "db",
                                           "max_pending",    "max_bytes",     "node_timeout",
                                           "restart_delay",  "wait_replicas", "wait_timeout",
                                           "quarantine_ttl", "pool",          "keep",
                                           "connections",    "sessions",      "session_timeout",
                                           "session_grace"};
  bool const known = std::ranges::find(harmless, key) != std::end(harmless);
  return known && parse_duration(value).has_value();
}

// What may be shown of a text that did not parse. People mistype passwords into every part of a
// URL (a raw '/', '?' or '#' in one moves the borders), so everything up to the last '@' goes, and
// so does the query, and a "port" that is none.
std::string shown(std::string_view text) {
  auto colon = text.find(':');
  std::string out = percent_encode(text.substr(0, std::min<std::size_t>(colon, 32)), "+-.");
  if (colon == std::string_view::npos) return out;
  std::string_view rest = text.substr(colon + 1);
  out += ':';
  bool has_authority = rest.starts_with("//");
  if (auto at = rest.rfind('@'); at != std::string_view::npos) {
    out += has_authority ? "//***@" : "***@";
    rest.remove_prefix(at + 1);
  } else if (has_authority) {
    out += "//";
    rest.remove_prefix(2);
  }
  rest = rest.substr(0, rest.find_first_of("?#"));
  auto authority = rest.substr(0, rest.find('/'));
  if (auto port = authority.rfind(':');
      has_authority && port != std::string_view::npos &&
      authority.find(']', port) == std::string_view::npos &&
      authority.find_first_not_of("0123456789", port + 1) != std::string_view::npos) {
    return out + percent_encode(rest.substr(0, port), "/.:-_[]") + ":***";
  }
  constexpr std::size_t enough = 200;
  out += percent_encode(rest.substr(0, enough), "/.:-_[]~+ ");
  return rest.size() > enough ? out + "…" : out;
}

failure malformed(std::string_view text, std::string_view why) {
  return make_failure(errc::invalid_url,
                      "invalid store URL '" + shown(text) + "': " + std::string(why));
}

// Takes one text apart; the first problem is kept in `why_` and everything after it is skipped.
class url_parser {
 public:
  explicit url_parser(std::string_view text) : text_(text) {}

  result<store_url> parse() {
    if (!check_bytes() || !parse_scheme()) return malformed(text_, why_);
    std::string_view rest = text_.substr(url_.scheme.size() + 1);
    std::string_view query;
    if (auto mark = rest.find('?'); mark != std::string_view::npos) {
      query = rest.substr(mark + 1);
      rest = rest.substr(0, mark);
    }
    bool ok =
        rest.starts_with("//") ? parse_authority(rest.substr(2), query) : parse_plain(rest, query);
    if (!ok || !parse_options(query)) return malformed(text_, why_);
    return std::move(url_);
  }

 private:
  bool fail(std::string why) {
    why_ = std::move(why);
    return false;
  }

  bool check_bytes() {
    if (text_.size() > max_url_bytes) {
      return fail("it is longer than " + std::to_string(max_url_bytes) + " bytes");
    }
    for (char c : text_) {
      if (is_control(c)) return fail("it contains a control character; percent-encode it");
      if (c == '#') return fail("it contains a raw '#'; write it as %23");
    }
    return true;
  }

  bool parse_scheme() {
    auto colon = text_.find(':');
    if (colon == std::string_view::npos || colon == 0) {
      return fail("it does not begin with a scheme such as memory:, sqlite: or redis://");
    }
    url_.scheme = text_.substr(0, colon);
    for (char& c : url_.scheme) {
      if (!is_alnum(c) && c != '+' && c != '-' && c != '.') {
        return fail("the scheme may only have letters, digits, '+', '-' and '.'");
      }
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return true;
  }

  // `scheme:path`. Only a file or a name may hold a raw '@': anywhere else it is a forgotten `//`
  // in front of a user and a password.
  bool parse_plain(std::string_view rest, std::string_view query) {
    bool names_a_file = url_.scheme == "sqlite" || url_.scheme == "memory";
    bool has_at =
        rest.find('@') != std::string_view::npos || query.find('@') != std::string_view::npos;
    if (!names_a_file && has_at) {
      return fail("'//' is missing in front of the user (a raw '@' in a path is written %40)");
    }
    return decode(rest, "path", url_.path);
  }

  bool parse_authority(std::string_view rest, std::string_view query) {
    auto slash = rest.find('/');
    std::string_view authority = rest.substr(0, slash);
    std::string_view path = slash == std::string_view::npos ? "" : rest.substr(slash);
    // A raw '/' or '?' in a password would turn its end into path or query, and be shown.
    if (path.find('@') != std::string_view::npos || query.find('@') != std::string_view::npos) {
      return fail(
          "there is an '@' behind the host; in user and password write '@' as %40, "
          "'/' as %2F, '?' as %3F");
    }
    if (auto at = authority.rfind('@'); at != std::string_view::npos) {
      std::string_view login = authority.substr(0, at);
      auto colon = login.find(':');
      if (!decode(login.substr(0, colon), "user", url_.user)) return false;
      if (colon != std::string_view::npos &&
          !decode(login.substr(colon + 1), "password", url_.password)) {
        return false;
      }
      authority.remove_prefix(at + 1);
    }
    return parse_hosts(authority) && decode(path, "path", url_.path);
  }

  bool parse_hosts(std::string_view text) {
    if (text.find(',') == std::string_view::npos) return parse_host(text);
    if (!takes_many_hosts(url_.scheme)) return fail("this scheme takes one host");
    while (true) {
      auto const comma = text.find(',');
      url_.host.clear();
      url_.port.reset();
      if (!parse_host(text.substr(0, comma))) return false;
      if (url_.host.empty()) return fail("a host between the commas is missing");
      url_.hosts.push_back({url_.host, url_.port});
      if (url_.hosts.size() > max_hosts) return fail("there are too many hosts");
      if (comma == std::string_view::npos) break;
      text.remove_prefix(comma + 1);
    }
    url_.host = url_.hosts.front().host;
    url_.port = url_.hosts.front().port;
    return true;
  }

  bool parse_host(std::string_view text) {
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
      auto close = text.find(']');
      if (close == std::string_view::npos) return fail("the ']' of the IPv6 address is missing");
      url_.host = text.substr(1, close - 1);
      std::string_view behind = text.substr(close + 1);
      if (!behind.empty() && behind.front() != ':') return fail("text follows the ']' of the host");
      has_port = !behind.empty();
      if (has_port) port = behind.substr(1);
      if (url_.host.find(':') == std::string::npos ||
          url_.host.find_first_not_of("0123456789abcdefABCDEF:.") != std::string::npos) {
        return fail("the address in brackets is not an IPv6 address");
      }
    } else {
      auto colon = text.find(':');
      has_port = colon != std::string_view::npos;
      url_.host = text.substr(0, colon);
      if (has_port) port = text.substr(colon + 1);
      for (char c : url_.host) {
        if (!is_alnum(c) && c != '.' && c != '-' && c != '_') {
          return fail(
              "the host may only have letters, digits, '.', '-' and '_' "
              "(an IPv6 address goes in brackets)");
        }
      }
    }
    return !has_port || parse_port(port);
  }

  bool parse_port(std::string_view text) {
    std::uint16_t port = 0;
    auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
    if (ec != std::errc() || end != text.data() + text.size() || port == 0) {
      return fail("the port is not a number from 1 to 65535");
    }
    if (url_.host.empty()) return fail("there is a port, but no host in front of it");
    url_.port = port;
    return true;
  }

  bool parse_options(std::string_view query) {
    while (!query.empty()) {
      auto end = query.find('&');
      std::string_view one = query.substr(0, end);
      query = end == std::string_view::npos ? "" : query.substr(end + 1);
      auto equals = one.find('=');
      if (equals == 0 || equals == std::string_view::npos) {
        return fail("options are written ?name=value&name=value");
      }
      std::string key;
      std::string value;
      if (!decode(one.substr(0, equals), "option", key) ||
          !decode(one.substr(equals + 1), "option", value)) {
        return false;
      }
      if (!url_.options.emplace(std::move(key), std::move(value)).second) {
        return fail("an option is given twice");
      }
    }
    return true;
  }

  bool decode(std::string_view text, char const* part, std::string& out) {
    out.clear();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '%') {
        out += text[i];
        continue;
      }
      bool complete = i + 2 < text.size();
      int high = complete ? hex_digit(text[i + 1]) : -1;
      int low = complete ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return fail(std::string("the ") + part +
                    " has a '%' without two hex digits; write a plain '%' as %25");
      }
      char byte = static_cast<char>(high * 16 + low);
      if (byte == '\0') return fail(std::string("the ") + part + " contains a NUL byte");
      out += byte;
      i += 2;
    }
    return true;
  }

  std::string_view text_;
  store_url url_;
  std::string why_;
};

}  // namespace

result<store_url> store_url::parse(std::string_view text) { return url_parser(text).parse(); }

std::string store_url::redacted() const {
  std::string out = scheme + ":";
  if (!host.empty() || !user.empty() || !password.empty()) {
    out += "//";
    if (password.empty()) {
      if (!user.empty()) out += "***";  // perhaps a password that was written as the user
    } else {
      out += percent_encode(user, "-._~") + ":***";
    }
    if (!user.empty() || !password.empty()) out += "@";
    auto const all = hosts.empty() ? std::vector<host_and_port>{{host, port}} : hosts;
    for (auto const& one : all) {
      if (&one != all.data()) out += ",";
      out += one.host.find(':') == std::string::npos ? one.host : "[" + one.host + "]";
      if (one.port) out += ":" + std::to_string(*one.port);
    }
  }
  out += percent_encode(path, "/-._~:@+, ");
  char separator = '?';
  for (auto const& [key, value] : options) {
    out += separator + percent_encode(key, "-._~") + "=";
    out += may_be_shown(key, value) ? value : "***";
    separator = '&';
  }
  return out;
}

std::string store_url::take_text(std::string_view option, std::string_view fallback) {
  known_options.emplace_back(option);
  auto found = options.find(option);
  if (found == options.end()) return std::string(fallback);
  std::string value = std::move(found->second);
  options.erase(found);
  return value;
}

result<milliseconds> store_url::take_duration(std::string_view option, milliseconds fallback) {
  if (options.find(option) == options.end()) {
    known_options.emplace_back(option);
    return fallback;
  }
  auto value = parse_duration(take_text(option, ""));
  if (value) return value;
  return make_failure(errc::invalid_url, "store URL " + redacted() + ": option '" +
                                             std::string(option) + "': " + value.error().message);
}

failure store_url::reject_unknown_options() const {
  if (options.empty()) return {};
  std::string const& name = options.begin()->first;
  std::string const near = near_name(name, known_options);
  return make_failure(errc::invalid_url,
                      "store URL " + redacted() + ": unknown option '" +
                          percent_encode(name, "-._~") + "'; " +
                          (near.empty() ? "remove it" : "did you mean '" + near + "'?"));
}

result<milliseconds> parse_duration(std::string_view text) {
  constexpr char how[] =
      "is not a duration; write 250ms, 2s, 5m, 1h, 7d or a number of milliseconds";
  auto bad = [&] {
    return make_failure(errc::invalid_value,
                        "'" + percent_encode(text.substr(0, 40), "-._~: ") + "' " + how);
  };
  std::int64_t number = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc() || number < 0 || text.empty() || text.front() == '-') return bad();
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  std::int64_t factor = 0;
  if (unit.empty() || unit == "ms") factor = 1;
  if (unit == "s") factor = 1000;
  if (unit == "m") factor = 60 * 1000;
  if (unit == "h") factor = 60 * 60 * 1000;
  if (unit == "d") factor = 24 * 60 * 60 * 1000;
  if (factor == 0 || number > std::numeric_limits<std::int64_t>::max() / factor) return bad();
  return milliseconds(number * factor);
}

}  // namespace v0
}  // namespace herdlock
