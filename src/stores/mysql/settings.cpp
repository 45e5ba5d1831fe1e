#include "stores/mysql/settings.hpp"

#include <algorithm>
#include <charconv>

namespace herdlock::mysql {
namespace {

constexpr milliseconds min_timeout{50};
constexpr milliseconds max_timeout{std::chrono::minutes{10}};
constexpr milliseconds max_keep{std::chrono::hours{24 * 365}};
constexpr std::size_t max_table_bytes = 59;  // with "_lock" behind it: the servers' limit
constexpr std::size_t max_pool = 4096;

failure bad_url(settings const& s, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + s.display_name + ": " + why);
}

failure take_address(settings& s, store_url& url) {
  s.host = url.host;
  s.port = url.port.value_or(3306);
  s.socket = url.take_text("socket", "");
  s.database = url.path.starts_with('/') ? url.path.substr(1) : url.path;
  s.user = url.user;
  s.password = url.password;
  if (!s.host.empty() && !s.database.empty() && s.database.find('/') == std::string::npos) {
    return {};
  }
  return bad_url(s, "write a host and a database: mysql://user:password@host:3306/database");
}

failure take_security(settings& s, store_url& url) {
  std::string const tls = url.take_text("tls", "off");
  std::string const verify = url.take_text("verify", "full");
  s.authority_file = url.take_text("cafile", "");
  s.certificate_file = url.take_text("cert", "");
  s.key_file = url.take_text("key", "");
  if (tls != "on" && tls != "off") return bad_url(s, "tls is on or off (default)");
  if (verify != "full" && verify != "none") return bad_url(s, "verify is full (default) or none");
  if (tls == "on") s.security = verify == "full" ? encryption::tls : encryption::tls_unverified;
  bool const named = !s.authority_file.empty() || !s.certificate_file.empty() || verify == "none";
  if (tls == "off" && named) return bad_url(s, "cafile, cert, key and verify need tls=on");
  if (s.certificate_file.empty() != s.key_file.empty()) {
    return bad_url(s, "cert and key go together: give both or none");
  }
  return {};
}

failure take_mode(settings& s, store_url& url) {
  std::string const mode = url.take_text("mode", "table");
  if (mode != "table" && mode != "row" && mode != "named") {
    return bad_url(s, "the mode is unknown; write table (default), row or named");
  }
  s.mode = mode == "row" ? lock_mode::row : mode == "named" ? lock_mode::named : lock_mode::table;
  s.table = url.take_text(
      "table", s.mode == lock_mode::table ? "herdlock_leases" : "herdlock_" + mode + "_leases");
  auto const plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (!s.table.empty() && s.table.size() <= max_table_bytes &&
      std::ranges::all_of(s.table, plain)) {
    return {};
  }
  return bad_url(s, "the table's name may have letters, digits and '_', and at most " +
                        std::to_string(max_table_bytes) + " of them");
}

failure take_number(settings& s, store_url& url, char const* option, std::size_t most,
                    std::size_t& number) {
  std::string const text = url.take_text(option, std::to_string(number));
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec == std::errc() && end == text.data() + text.size() && number >= 1 && number <= most) {
    return {};
  }
  return bad_url(s, std::string(option) + " must be a number from 1 to " + std::to_string(most));
}

failure take_grace(settings& s, store_url& url) {
  auto const grace = url.take_duration("session_grace", s.session_grace);
  if (!grace) return grace.error();
  if (*grace < milliseconds{0} || *grace > std::chrono::minutes{5}) {
    return bad_url(s, "session_grace must be from 0 to 5m");
  }
  if (*grace > milliseconds{0} && s.mode == lock_mode::table) {
    return bad_url(s, "session_grace is for mode=row and mode=named");
  }
  s.session_grace = *grace;
  return {};
}

failure take_bounds(settings& s, store_url& url) {
  auto const timeout = url.take_duration("timeout", s.timeout);
  if (!timeout) return timeout.error();
  s.timeout = *timeout;
  if (s.timeout < min_timeout || s.timeout > max_timeout) {
    return bad_url(s, "the timeout must be from 50ms to 10m");
  }
  auto const keep = url.take_duration("keep", s.keep);
  if (!keep) return keep.error();
  s.keep = *keep;
  if (s.keep < milliseconds{0} || s.keep > max_keep) {
    return bad_url(s, "keep must be from 0 to 365 days");
  }
  s.pool = s.mode == lock_mode::table ? 16 : 64;
  if (failure bad = take_number(s, url, "pool", max_pool, s.pool); bad.code) return bad;
  return take_number(s, url, "max_pending", 1'000'000, s.max_pending);
}

}  // namespace

std::string settings::address() const {
  if (!socket.empty()) return socket;
  bool const v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// Names and owners are bytes, so that no collation makes two of them one. No other index: each
// grant would have to change it.
std::string settings::ddl() const {
  std::string text = "CREATE TABLE IF NOT EXISTS `" + table +
                     "`(resource VARBINARY(512) NOT NULL PRIMARY KEY, owner VARBINARY(128) NOT "
                     "NULL, fencing BIGINT UNSIGNED NOT NULL, acquired_at DATETIME(6) NOT NULL, "
                     "expires_at DATETIME(6) NOT NULL, session BIGINT UNSIGNED NOT NULL, "
                     "released_by VARBINARY(128) NOT NULL DEFAULT '') ENGINE = InnoDB;";
  if (mode == lock_mode::row) {
    text += " CREATE TABLE IF NOT EXISTS `" + table +
            "_lock`(resource VARBINARY(512) NOT NULL PRIMARY KEY) ENGINE = InnoDB;";
  }
  if (session_grace > milliseconds{0}) {
    text += " CREATE TABLE IF NOT EXISTS `" + table +
            "_open`(resource VARBINARY(512) NOT NULL PRIMARY KEY, fencing BIGINT UNSIGNED NOT "
            "NULL) ENGINE = InnoDB;";
  }
  return text;
}

result<settings> parse_settings(store_url url) {
  settings s;
  s.display_name = url.redacted();
  if (failure why = take_address(s, url); why.code) return why;
  if (failure why = take_security(s, url); why.code) return why;
  if (failure why = take_mode(s, url); why.code) return why;
  if (failure why = take_grace(s, url); why.code) return why;
  if (failure why = take_bounds(s, url); why.code) return why;
  if (failure why = url.reject_unknown_options(); why.code) return why;
  return s;
}

}  // namespace herdlock::mysql
