#include "stores/mysql/sql_error.hpp"

#include <errmsg.h>
#include <mysqld_error.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace herdlock::mysql {
namespace {

// Of MySQL 8.
constexpr unsigned mysql_nowait = 3572;          // ER_LOCK_NOWAIT
constexpr unsigned mysql_session_killed = 3169;  // ER_SESSION_WAS_KILLED
constexpr unsigned mysql_idle_too_long = 4031;   // ER_CLIENT_INTERACTION_TIMEOUT

struct known_code {
  unsigned code;
  errc means;
  char const* way_out;
};

constexpr char const* what_rights =
    "the user needs SELECT, INSERT, UPDATE and DELETE on the tables; `herdlock doctor` prints the "
    "SQL for an administrator that makes them and grants these";
constexpr char const* no_table =
    "`herdlock doctor` prints the SQL for an administrator that makes the table";
constexpr char const* raise_connections =
    "raise max_connections at the server or lower `pool` in the URL";

constexpr known_code known[] = {
    {pool_is_closed, errc::canceled, ""},
    {pool_is_full, errc::overloaded, ""},
    {not_for_cluster, errc::not_supported, ""},
    {too_late, errc::timed_out, "is it overloaded, or the network in between down?"},
    {bad_reply, errc::protocol, ""},
    {ER_ACCESS_DENIED_ERROR, errc::access_denied, "check user and password in the store's URL"},
    {ER_ACCESS_DENIED_NO_PASSWORD_ERROR, errc::access_denied,
     "check user and password in the store's URL"},
    {CR_PLUGIN_NOT_ALLOWED, errc::access_denied,
     "the server asks for the password in a way that shows it to whoever answers there; write "
     "tls=on with cafile, or let the user be IDENTIFIED VIA ed25519 or mysql_native_password"},
    {ER_DBACCESS_DENIED_ERROR, errc::access_denied, what_rights},
    {ER_TABLEACCESS_DENIED_ERROR, errc::access_denied, what_rights},
    {ER_COLUMNACCESS_DENIED_ERROR, errc::access_denied, what_rights},
    {ER_SPECIFIC_ACCESS_DENIED_ERROR, errc::access_denied, what_rights},
    {ER_NO_SUCH_TABLE, errc::unavailable, no_table},
    {ER_BAD_FIELD_ERROR, errc::unavailable, no_table},
    {ER_BAD_DB_ERROR, errc::unavailable,
     "create the database or name another one in the store's URL"},
    {ER_CON_COUNT_ERROR, errc::unavailable, raise_connections},
    {ER_TOO_MANY_USER_CONNECTIONS, errc::unavailable, raise_connections},
    {ER_USER_LIMIT_REACHED, errc::unavailable, raise_connections},
    {ER_LOCK_WAIT_TIMEOUT, errc::timed_out,
     "another transaction holds the row; is somebody working by hand?"},
    {ER_LOCK_DEADLOCK, errc::timed_out,
     "tried again until the deadline; is somebody working on the table by hand?"},
    {ER_CONNECTION_KILLED, errc::unavailable, "the connection was ended at the server"},
    {CR_SSL_CONNECTION_ERROR, errc::unavailable,
     "check these files, tls and the host's name in the store's URL, and the server's certificate; "
     "the files are read again for the next connection"},
    {ER_BINLOG_STMT_MODE_AND_ROW_ENGINE, errc::unavailable,
     "set binlog_format to MIXED or ROW at the server"},
    {CR_SERVER_LOST, errc::unavailable, "the connection was lost"},
    {CR_SERVER_GONE_ERROR, errc::unavailable, "the connection was lost"},
};
constexpr known_code any_other{0, errc::unavailable,
                               "check that the server runs and can be reached"};

// The client library does not say which file it means.
std::string files_of(settings const& how) {
  auto const& tls = how.tls;
  std::string text = tls.authority_file.empty() ? " (the system's authorities"
                                                : " (cafile " + in_quotes(tls.authority_file);
  if (!tls.certificate_file.empty()) {
    text += ", cert " + in_quotes(tls.certificate_file) + ", key " + in_quotes(tls.key_file);
  }
  return text + ")";
}

}  // namespace

bool sql_error::is_deadlock() const { return code == ER_LOCK_DEADLOCK; }
bool sql_error::is_missing_table() const { return code == ER_NO_SUCH_TABLE; }
bool sql_error::is_refused_right() const {
  return code == ER_TABLEACCESS_DENIED_ERROR || code == ER_COLUMNACCESS_DENIED_ERROR ||
         code == ER_SPECIFIC_ACCESS_DENIED_ERROR || is_refused_database();
}
bool sql_error::is_refused_database() const { return code == ER_DBACCESS_DENIED_ERROR; }
bool sql_error::is_lost_connection() const {
  return code == CR_SERVER_LOST || code == CR_SERVER_GONE_ERROR;
}
bool sql_error::ends_session() const {
  // Proxies have numbers of their own, from 9000 on.
  bool const told_by_server =
      code >= 1000 && code < 9000 && (code < CR_MIN_ERROR || code > CR_MAX_ERROR);
  bool const network = code >= ER_ABORTING_CONNECTION && code <= ER_NET_WRITE_INTERRUPTED;
  if (code == not_written) return false;
  return !told_by_server || network || code == ER_NEW_ABORTING_CONNECTION ||
         code == ER_CONNECTION_KILLED || code == ER_SERVER_SHUTDOWN ||
         code == mysql_session_killed || code == mysql_idle_too_long;
}
bool sql_error::is_unreachable() const {
  return code == CR_CONN_HOST_ERROR || code == CR_CONNECTION_ERROR;
}
bool sql_error::is_locked() const { return code == ER_LOCK_WAIT_TIMEOUT || code == mysql_nowait; }

failure to_failure(sql_error const& error, std::string const& subject, settings const& how) {
  auto const* const found = std::ranges::find(known, error.code, &known_code::code);
  auto const& made = found == std::end(known) ? any_other : *found;
  std::string_view const way_out = made.way_out;
  std::string text = how.display_name + ": " + subject + ": " + error.text;
  if (error.code == CR_SSL_CONNECTION_ERROR) text += files_of(how);
  if (!way_out.empty()) text.append("; ").append(way_out);
  return make_failure(made.means, std::move(text));
}

}  // namespace herdlock::mysql
