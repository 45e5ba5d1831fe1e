#include "stores/postgres/settings.hpp"

#include <algorithm>
#include <string_view>

#include "stores/common/url_options.hpp"

namespace herdlock::postgres {
namespace {

using stores::option_kind;

constexpr stores::url_option options[] = {
    {"mode", option_kind::choice, "table", "table, advisory, row",
     "what holds a lease in the server"},
    {"table", option_kind::text, "herdlock_leases",
     "a-z 0-9 _, at most 40 bytes, perhaps a schema in front",
     "the table of the leases; the others' names begin with it"},
    {"timeout", option_kind::duration, "5s", "1ms to 5m", "how long a command may take"},
    {"session_grace", option_kind::duration, "0", "0 to 5m",
     "how long whoever succeeds a holder that did not release waits first; advisory and row only"},
    {"sessions", option_kind::count, "16", "from 1",
     "connections for leases and waits of the session modes"},
    {"max_pending", option_kind::count, "65536", "from 1",
     "operations under way in a store; one more is overloaded"},
    {"socket", option_kind::text, "", "a folder",
     "of the server's Unix socket, instead of the host"},
};
constexpr std::string_view libpq = "passed on to libpq, whose manual explains it";
constexpr stores::url_option passed_on[] = {
    {"sslmode", option_kind::text, "", "", libpq},
    {"sslrootcert", option_kind::text, "", "", libpq},
    {"sslcert", option_kind::text, "", "", libpq},
    {"sslkey", option_kind::text, "", "", libpq},
    {"sslpassword", option_kind::text, "", "", libpq},
    {"sslcrl", option_kind::text, "", "", libpq},
    {"sslcrldir", option_kind::text, "", "", libpq},
    {"sslsni", option_kind::text, "", "", libpq},
    {"ssl_min_protocol_version", option_kind::text, "", "", libpq},
    {"channel_binding", option_kind::text, "", "", libpq},
    {"gssencmode", option_kind::text, "", "", libpq},
    {"krbsrvname", option_kind::text, "", "", libpq},
    {"passfile", option_kind::text, "", "", libpq},
    {"require_auth", option_kind::text, "", "", libpq},
    {"keepalives", option_kind::text, "", "", libpq},
    {"keepalives_idle", option_kind::text, "", "", libpq},
    {"keepalives_interval", option_kind::text, "", "", libpq},
    {"keepalives_count", option_kind::text, "", "", libpq},
    {"tcp_user_timeout", option_kind::text, "", "", libpq},
};
constexpr stores::scheme_options schemes[] = {
    {"postgres", {options, passed_on}},
    {"postgresql", {options, passed_on}},
};

// The names of functions and channels are made from it, and PostgreSQL cuts names at 63 bytes.
constexpr std::size_t max_table_bytes = 40;

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

void take_mode(settings& taken, stores::option_reader& in) {
  taken.mode = in.choice<lock_mode>("mode");
  taken.table = in.text("table", taken.table);
  if (!is_table(taken.table)) {
    in.refuse(
        "option 'table' must be a name of a-z, 0-9 and _, at most 40 bytes, with "
        "or without a schema in front");
  }
  taken.session_grace = in.duration("session_grace");
  if (taken.session_grace > milliseconds{0} && taken.mode == lock_mode::table) {
    in.refuse("option 'session_grace' is for mode=advisory and mode=row");
  }
}

// libpq would take a missing database for one with the user's name; say it here, where it shows.
void take_address(settings& taken, stores::option_reader& in, store_url const& url) {
  if (url.hosts.size() > 1) in.refuse("give one host");
  taken.host = in.text("socket", url.host);
  if (taken.host.empty()) in.refuse("the host is missing");
  taken.port = std::to_string(url.port.value_or(5432));
  std::string const database = url.path.empty() ? "" : url.path.substr(1);
  if (database.empty()) {
    in.refuse("the database is missing; write postgres://user@host:port/database");
  }
  taken.parameters.emplace_back("dbname", database);
  if (!url.user.empty()) taken.parameters.emplace_back("user", url.user);
  if (!url.password.empty()) taken.parameters.emplace_back("password", url.password);
}

}  // namespace

result<settings> take_settings(store_url url) {
  stores::option_reader in(url, schemes[0]);
  settings taken;
  taken.display_name = url.redacted();
  take_mode(taken, in);
  taken.timeout = in.duration("timeout");
  taken.max_pending = in.count("max_pending");
  taken.sessions = in.count("sessions");
  take_address(taken, in, url);
  for (auto const& one : passed_on) {
    auto value = in.text(one.name);
    if (!value.empty()) taken.parameters.emplace_back(one.name, std::move(value));
  }
  if (failure bad = in.end(); bad.code) return bad;
  return taken;
}

}  // namespace herdlock::postgres

std::span<herdlock::stores::scheme_options const> herdlock::stores::postgres_options() {
  return postgres::schemes;
}
