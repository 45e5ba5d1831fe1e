#include "stores/postgres/settings.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace herdlock::postgres {
namespace {

// Left to libpq as they are; its manual says what they mean.
constexpr std::string_view passed_through[] = {
    "sslmode",         "sslrootcert",      "sslcert",
    "sslkey",          "sslcrl",           "sslcrldir",
    "sslpassword",     "sslsni",           "ssl_min_protocol_version",
    "channel_binding", "gssencmode",       "krbsrvname",
    "passfile",        "require_auth",     "keepalives",
    "keepalives_idle", "keepalives_count", "keepalives_interval",
    "tcp_user_timeout"};

// The names of functions and channels are made from it, and PostgreSQL cuts names at 63 bytes.
constexpr std::size_t max_table_bytes = 40;

failure bad_url(store_url const& url, std::string const& why) {
  return make_failure(errc::invalid_url, "store URL " + url.redacted() + ": " + why);
}

bool is_identifier(std::string_view text) {
  auto const letter = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  auto const rest = [&](char c) { return letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= max_table_bytes && letter(text.front()) &&
         std::ranges::all_of(text, rest);
}

bool is_table(std::string_view text) {
  auto const dot = text.find('.');
  if (dot == std::string_view::npos) return is_identifier(text);
  return is_identifier(text.substr(0, dot)) && is_identifier(text.substr(dot + 1));
}

result<std::size_t> take_count(store_url& url, char const* option, std::size_t fallback) {
  std::string const text = url.take_text(option, std::to_string(fallback));
  std::size_t number = 0;
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec == std::errc() && end == text.data() + text.size() && number > 0) return number;
  return bad_url(url, "option '" + std::string(option) + "' is not a number greater than 0");
}

failure take_mode(store_url& url, settings& taken) {
  std::string const mode = url.take_text("mode", "table");
  if (mode == "table")
    taken.mode = lock_mode::table;
  else if (mode == "advisory")
    taken.mode = lock_mode::advisory;
  else if (mode == "row")
    taken.mode = lock_mode::row;
  else
    return bad_url(url, "option 'mode' must be table, row or advisory");
  return {};
}

failure take_numbers(store_url& url, settings& taken) {
  auto const timeout = url.take_duration("timeout", taken.timeout);
  if (!timeout) return timeout.error();
  if (*timeout < milliseconds{1} || *timeout > std::chrono::minutes{5}) {
    return bad_url(url, "option 'timeout' must be from 1ms to 5m");
  }
  taken.timeout = *timeout;
  auto const pending = take_count(url, "max_pending", taken.max_pending);
  if (!pending) return pending.error();
  taken.max_pending = *pending;
  auto const sessions = take_count(url, "sessions", taken.sessions);
  if (!sessions) return sessions.error();
  taken.sessions = *sessions;
  return {};
}

failure take_grace(store_url& url, settings& taken) {
  auto const time = url.take_duration("session_grace", taken.session_grace);
  if (!time) return time.error();
  if (*time < milliseconds{0} || *time > std::chrono::minutes{5}) {
    return bad_url(url, "option 'session_grace' must be from 0 to 5m");
  }
  if (*time > milliseconds{0} && taken.mode == lock_mode::table) {
    return bad_url(url, "option 'session_grace' is for mode=advisory and mode=row");
  }
  taken.session_grace = *time;
  return {};
}

// libpq would take a missing database for one with the user's name; say it here, where it shows.
failure take_address(store_url& url, settings& taken) {
  if (url.hosts.size() > 1) return bad_url(url, "give one host");
  taken.host = url.take_text("socket", url.host);
  if (taken.host.empty()) return bad_url(url, "the host is missing");
  taken.port = std::to_string(url.port.value_or(5432));
  std::string const database = url.path.empty() ? "" : url.path.substr(1);
  if (database.empty()) {
    return bad_url(url, "the database is missing; write postgres://user@host:port/database");
  }
  taken.parameters.emplace_back("dbname", database);
  if (!url.user.empty()) taken.parameters.emplace_back("user", url.user);
  if (!url.password.empty()) taken.parameters.emplace_back("password", url.password);
  return {};
}

}  // namespace

result<settings> take_settings(store_url url) {
  settings taken;
  taken.display_name = url.redacted();
  for (auto take : {take_mode, take_numbers, take_grace, take_address}) {
    if (failure bad = take(url, taken); bad.code) return bad;
  }
  taken.table = url.take_text("table", taken.table);
  if (!is_table(taken.table)) {
    return bad_url(url,
                   "option 'table' must be a name of a-z, 0-9 and _, at most 40 bytes, with "
                   "or without a schema in front");
  }
  for (auto const option : passed_through) {
    auto const value = url.take_text(option, "");
    if (!value.empty()) taken.parameters.emplace_back(option, value);
  }
  if (failure bad = url.reject_unknown_options(); bad.code) return bad;
  return taken;
}

}  // namespace herdlock::postgres
