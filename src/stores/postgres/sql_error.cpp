#include "stores/postgres/sql_error.hpp"

#include <algorithm>
#include <string_view>

namespace herdlock::postgres {
namespace {

struct known_state {
  std::string_view prefix;  // of the SQLSTATE
  errc code;
  char const* way_out;
};

constexpr std::string_view read_only_state = "25006";

constexpr known_state known[] = {
    {"28", errc::access_denied, "check user and password"},
    {"42501", errc::access_denied,
     "`herdlock doctor` prints the SQL for somebody who may grant it; or use another user"},
    {read_only_state, errc::unavailable,
     "this server is a standby: name the primary; or it, or this user, was made read-only: ALTER "
     "ROLE … SET default_transaction_read_only = off"},
    {"53300", errc::unavailable, "raise max_connections, or lower 'sessions'"},
    {"3D000", errc::unavailable, "create the database, or correct the URL"},
    {"57014", errc::timed_out, "the server is overloaded, or 'timeout' is too short"},
    {"55P03", errc::timed_out,
     "another session keeps the row locked: end the transaction of whoever works on it by hand "
     "(see "
     "pg_stat_activity)"},
    {"42P05", errc::not_supported,
     "a proxy gives the session of one connection to another (PgBouncer with "
     "pool_mode=transaction does): connect to the server itself, or use pool_mode=session"},
    {"42", errc::protocol, "drop herdlock's tables and functions of another version"},
    {"22", errc::protocol, "this is a defect of herdlock"},
    {"", errc::unavailable, ""},
};

// Before there is a session libpq tells the server's sentence, but not its SQLSTATE.
bool speaks_of_credentials(std::string_view text) {
  for (std::string_view const part :
       {"authentication failed", "no password supplied", "no pg_hba.conf entry",
        "is not permitted to log in", "permission denied for database"}) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  // FATAL: role "x" does not exist
  return text.find("role \"") != std::string_view::npos &&
         text.find("does not exist") != std::string_view::npos;
}

// Of our own certificate, its key or the authority's. With sslmode=prefer the server's sentence on
// a second try without TLS stands behind it.
bool speaks_of_a_file(std::string_view text) {
  for (std::string_view const part : {"certificate file \"", "key file \"", ": the file \""}) {
    if (text.find(part) != std::string_view::npos) return true;
  }
  return false;
}

bool speaks_of_security(std::string_view text) {
  return text.find("SSL") != std::string_view::npos ||
         text.find("certificate") != std::string_view::npos;
}

bool speaks_of_a_standby(std::string_view text) {
  return text.find("in hot standby mode") != std::string_view::npos;
}

}  // namespace

bool is_read_only(sql_error const& why) { return why.state == read_only_state; }

bool ends_session(sql_error const& why) {
  return why.state.empty() || why.ends_all || why.state.starts_with("08") ||
         why.state.starts_with("57P") || why.state.starts_with("25P");
}

failure to_failure(sql_error const& why) {
  if (why.state.empty() && speaks_of_a_file(why.message)) {
    return make_failure(errc::unavailable,
                        why.message +
                            "; the files are read again for the next connection: put this one "
                            "right, or correct sslcert, sslkey or sslrootcert in the store's URL");
  }
  if (why.state.empty() && speaks_of_credentials(why.message)) {
    return make_failure(errc::access_denied, why.message + "; check user and password");
  }
  if (why.state.empty() && speaks_of_security(why.message)) {
    return make_failure(errc::unavailable,
                        why.message +
                            "; check sslmode, sslrootcert and the host's name in the "
                            "store's URL, and the server's certificate");
  }
  bool const standby = why.state.empty() && speaks_of_a_standby(why.message);
  std::string_view const state = standby ? read_only_state : why.state;
  auto const* const found = std::ranges::find_if(
      known, [&](known_state const& each) { return state.starts_with(each.prefix); });
  std::string text = why.message;
  if (*found->way_out != '\0') text += std::string("; ") + found->way_out;
  return make_failure(found->code, std::move(text));
}

}  // namespace herdlock::postgres
