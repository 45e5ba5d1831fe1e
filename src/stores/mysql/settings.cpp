#include "stores/mysql/settings.hpp"

#include <algorithm>

namespace herdlock::mysql {
namespace {

constexpr std::size_t max_table_bytes = 59;  // with "_lock" behind it: the servers' limit

using stores::option_kind;

constexpr stores::url_option options[] = {
    {"mode", option_kind::choice, "table", "table, row, named", "what holds a lease in the server"},
    {"table", option_kind::text, "herdlock_leases; herdlock_row_leases, herdlock_named_leases",
     "letters, digits, _; at most 59", "the table of the leases; the same in all clients"},
    {"timeout", option_kind::duration, "2s", "50ms to 10m", "how long a command may take"},
    {"session_grace", option_kind::duration, "0", "0 to 5m",
     "how long whoever succeeds a holder that did not release waits first; row and named only"},
    {"pool", option_kind::count, "16; 64 in row and named mode", "1 to 4096",
     "connections; in row and named mode: leases held and resources waited for"},
    {"max_pending", option_kind::count, "65536", "1 to 1000000",
     "operations under way in a store; one more is overloaded"},
    {"keep", option_kind::duration, "1h", "0 to 8760h", "how long a row that nobody holds is kept"},
    {"socket", option_kind::text, "", "a path",
     "a Unix socket, used instead of host and port; the URL names a host all the same"},
    {"tls", option_kind::choice, "off", "off, on",
     "TLS to the server; cafile, cert, key and verify need it"},
};
constexpr stores::scheme_options schemes[] = {
    {"mysql", {options, stores::tls_options}},
    {"mariadb", {options, stores::tls_options}},
};

void take_address(settings& s, stores::option_reader& in, store_url const& url) {
  s.host = url.host;
  s.port = url.port.value_or(3306);
  s.socket = in.text("socket");
  s.database = url.path.starts_with('/') ? url.path.substr(1) : url.path;
  s.user = url.user;
  s.password = url.password;
  if (s.host.empty() || s.database.empty() || s.database.find('/') != std::string::npos) {
    in.refuse("write a host and a database: mysql://user:password@host:3306/database");
  }
}

void take_security(settings& s, stores::option_reader& in) {
  auto taken = stores::take_tls(in);
  bool const named = !taken.authority_file.empty() || !taken.certificate_file.empty() ||
                     taken.security == stores::encryption::tls_unverified;
  if (in.chosen("tls") == 1) {
    s.tls = std::move(taken);
  } else if (named) {
    in.refuse("cafile, cert, key and verify need tls=on");
  }
}

void take_mode(settings& s, stores::option_reader& in) {
  s.mode = in.choice<lock_mode>("mode");
  constexpr char const* tables[] = {"herdlock_leases", "herdlock_row_leases",
                                    "herdlock_named_leases"};
  s.table = in.text("table", tables[static_cast<std::size_t>(s.mode)]);
  auto const plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  if (s.table.empty() || s.table.size() > max_table_bytes || !std::ranges::all_of(s.table, plain)) {
    in.refuse("the table's name may have letters, digits and '_', and at most " +
              std::to_string(max_table_bytes) + " of them");
  }
  s.session_grace = in.duration("session_grace");
  if (s.session_grace > milliseconds{0} && s.mode == lock_mode::table) {
    in.refuse("session_grace is for mode=row and mode=named");
  }
}

std::string quoted(std::string const& name, char quote) {
  std::string text(1, quote);
  for (char const c : name) text.append(c == quote || (c == '\\' && quote == '\'') ? 2 : 1, c);
  return text + quote;
}

}  // namespace

std::string settings::address() const {
  if (!socket.empty()) return socket;
  return stores::server_address{host, port}.text();
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
    text += "\nCREATE TABLE IF NOT EXISTS `" + table +
            "_lock`(resource VARBINARY(512) NOT NULL PRIMARY KEY) ENGINE = InnoDB;";
  }
  if (session_grace > milliseconds{0}) {
    text += "\nCREATE TABLE IF NOT EXISTS `" + table +
            "_open`(resource VARBINARY(512) NOT NULL PRIMARY KEY, fencing BIGINT UNSIGNED NOT "
            "NULL) ENGINE = InnoDB;";
  }
  return text;
}

std::vector<std::string> settings::tables() const {
  std::vector<std::string> all{table};
  if (mode == lock_mode::row) all.push_back(table + "_lock");
  if (session_grace > milliseconds{0}) all.push_back(table + "_open");
  return all;
}

std::string settings::set_up_script(std::string const& account) const {
  auto const at = std::min(account.rfind('@'), account.size());
  auto const origin = at < account.size() ? account.substr(at + 1) : std::string("%");
  auto const to = quoted(account.substr(0, at), '\'') + "@" + quoted(origin, '\'');
  auto const where = quoted(database, '`');
  std::string text =
      "CREATE DATABASE IF NOT EXISTS " + where + ";\nUSE " + where + ";\n" + ddl() + "\n";
  for (auto const& each : tables()) {
    text += "GRANT SELECT, INSERT, UPDATE, DELETE ON " + where + ".`" + each + "` TO " + to + ";\n";
  }
  return text;
}

result<settings> parse_settings(store_url url) {
  stores::option_reader in(url, schemes[0]);
  settings s;
  s.display_name = url.redacted();
  take_address(s, in, url);
  take_security(s, in);
  take_mode(s, in);
  s.timeout = in.duration("timeout");
  s.keep = in.duration("keep");
  s.pool = in.count("pool", s.mode == lock_mode::table ? 16 : 64);
  s.max_pending = in.count("max_pending");
  if (failure why = in.end(); why.code) return why;
  return s;
}

}  // namespace herdlock::mysql

std::span<herdlock::stores::scheme_options const> herdlock::stores::mysql_options() {
  return mysql::schemes;
}
