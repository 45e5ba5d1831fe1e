#include "stores/mysql/sql_error.hpp"

#include <errmsg.h>
#include <mysqld_error.h>

namespace herdlock::mysql {
namespace {

// Of MySQL 8.
constexpr unsigned mysql_nowait = 3572;          // ER_LOCK_NOWAIT
constexpr unsigned mysql_session_killed = 3169;  // ER_SESSION_WAS_KILLED
constexpr unsigned mysql_idle_too_long = 4031;   // ER_CLIENT_INTERACTION_TIMEOUT

struct classified {
  errc code;
  std::string way_out;
};

classified classify(unsigned code, settings const& how) {
  switch (code) {
    case pool_is_closed:
      return {errc::canceled, ""};
    case pool_is_full:
      return {errc::overloaded, ""};
    case not_for_cluster:
      return {errc::not_supported, ""};
    case too_late:
      return {errc::timed_out, "is it overloaded, or the network in between down?"};
    case bad_reply:
      return {errc::protocol, ""};
    case ER_ACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR:
      return {errc::access_denied, "check user and password in the store's URL"};
    case CR_PLUGIN_NOT_ALLOWED:
      return {errc::access_denied,
              "the server asks for the password in a way that shows it to whoever answers there; "
              "write tls=on with cafile, or let the user be IDENTIFIED VIA ed25519 or "
              "mysql_native_password"};
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
      return {errc::access_denied,
              "the user needs SELECT, INSERT, UPDATE and DELETE on the table; if it may not create "
              "it, let an administrator run: " +
                  how.ddl()};
    case ER_NO_SUCH_TABLE:
    case ER_BAD_FIELD_ERROR:
      return {errc::unavailable, "the table must be made by: " + how.ddl()};
    case ER_BAD_DB_ERROR:
      return {errc::unavailable, "create the database or name another one in the store's URL"};
    case ER_CON_COUNT_ERROR:
    case ER_TOO_MANY_USER_CONNECTIONS:
    case ER_USER_LIMIT_REACHED:
      return {errc::unavailable, "raise max_connections at the server or lower `pool` in the URL"};
    case ER_LOCK_WAIT_TIMEOUT:
      return {errc::timed_out, "another transaction holds the row; is somebody working by hand?"};
    case ER_LOCK_DEADLOCK:
      return {errc::timed_out,
              "tried again until the deadline; is somebody working on the table by hand?"};
    case ER_CONNECTION_KILLED:
      return {errc::unavailable, "the connection was ended at the server"};
    case CR_SSL_CONNECTION_ERROR:
      return {errc::unavailable,
              "check tls, cafile and the host's name in the store's URL, and the server's "
              "certificate"};
    case ER_BINLOG_STMT_MODE_AND_ROW_ENGINE:
      return {errc::unavailable, "set binlog_format to MIXED or ROW at the server"};
    case CR_SERVER_LOST:
    case CR_SERVER_GONE_ERROR:
      return {errc::unavailable, "the connection was lost"};
    default:
      return {errc::unavailable, "check that the server runs and can be reached"};
  }
}

}  // namespace

bool sql_error::is_deadlock() const { return code == ER_LOCK_DEADLOCK; }
bool sql_error::is_missing_table() const { return code == ER_NO_SUCH_TABLE; }
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
  classified const made = classify(error.code, how);
  std::string text = how.display_name + ": " + subject + ": " + error.text;
  if (!made.way_out.empty()) text += "; " + made.way_out;
  return make_failure(made.code, std::move(text));
}

}  // namespace herdlock::mysql
