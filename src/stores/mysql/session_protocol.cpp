#include "stores/mysql/session_protocol.hpp"

#include <mysqld_error.h>

#include <algorithm>

namespace herdlock::mysql {
namespace {

// So that a holder that gives back in the last moment is not ended in the act.
constexpr milliseconds silence_margin{500};
constexpr std::chrono::seconds longest_silence{31'536'000};  // the servers' limit, and our max_ttl

std::int64_t silence_s(milliseconds ttl) {
  auto const seconds = std::chrono::ceil<std::chrono::seconds>(ttl + silence_margin);
  return std::min(seconds, longest_silence).count();
}

std::string where(possession const& what) {
  return joined({" WHERE resource = ", literal(what.name.str()), " AND fencing = ",
                 std::to_string(what.fencing.value), " AND expires_at > ", now_sql});
}

}  // namespace

std::string silence_sql(milliseconds ttl) {
  return "SET SESSION wait_timeout = " + std::to_string(silence_s(ttl));
}

std::string new_silence_sql(connection const& session, milliseconds ttl) {
  return session.silence_s == silence_s(ttl) ? "" : silence_sql(ttl) + "; ";
}

void keep_silence(connection& session, milliseconds ttl) { session.silence_s = silence_s(ttl); }

void forget_silence(connection& session) { session.silence_s = -1; }

std::string record_sql(settings const& how, bid const& taken, std::string const& session,
                       std::string const& condition) {
  std::string const owner = literal(taken.owner.str());
  return "INSERT INTO `" + how.table +
         "`(resource, owner, fencing, acquired_at, expires_at, session) SELECT " +
         literal(taken.name.str()) + ", " + owner + ", " + now_us_sql + ", " + now_sql + ", " +
         after_sql(taken.ttl) + ", " + session + " FROM DUAL WHERE " + condition +
         " ON DUPLICATE KEY UPDATE fencing = GREATEST(fencing + 1, " + now_us_sql +
         "), owner = " + owner + ", acquired_at = " + now_sql + ", session = " + session +
         ", expires_at = " + after_sql(taken.ttl);
}

std::string record_again_sql(settings const& how, bid const& taken, std::string const& session,
                             std::string const& condition) {
  return joined({"UPDATE `", how.table, "` SET fencing = ", next_token_sql(),
                 ", owner = ", literal(taken.owner.str()), ", acquired_at = ", now_sql,
                 ", session = ", session, ", expires_at = ", after_sql(taken.ttl),
                 " WHERE resource = ", literal(taken.name.str()), " AND ", condition});
}

std::string renew_sql(settings const& how, possession const& what, milliseconds ttl) {
  return "UPDATE `" + how.table + "` SET expires_at = " + after_sql(ttl) + where(what);
}

std::string clear_sql(settings const& how, possession const& what) {
  return joined({"UPDATE `", how.table, "` SET expires_at = ", never_sql, where(what)});
}

void end_session(connection& db, std::uint64_t session) {
  try {
    db.run("KILL CONNECTION " + std::to_string(session));
  } catch (sql_error const& error) {
    if (error.code != ER_NO_SUCH_THREAD) throw;
  }
}

void refuse_cluster(connection& db, char const* what) {
  auto const found = db.run("SHOW GLOBAL VARIABLES LIKE 'wsrep_on'").at(0);
  if (found.rows.empty() || text(found.rows.front(), 1) != "ON") return;
  throw sql_error{not_for_cluster,
                  std::string("the server is a node of a Galera cluster, and ") + what +
                      " would exclude the clients of this node only; use mode=table"};
}

}  // namespace herdlock::mysql
