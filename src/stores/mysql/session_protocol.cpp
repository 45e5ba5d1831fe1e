#include "stores/mysql/session_protocol.hpp"

#include <mysqld_error.h>

#include <algorithm>

namespace herdlock::mysql {
namespace {

// So that a holder that gives back in the last moment is not ended in the act.
constexpr milliseconds idle_margin{500};
constexpr std::chrono::seconds longest_idle{31'536'000};  // the servers' limit, and our max_ttl

// Why: docs/stores/mysql.md#an-idle-session-is-ended
std::int64_t idle_timeout_s(milliseconds ttl) {
  auto const seconds = std::chrono::ceil<std::chrono::seconds>(ttl + idle_margin);
  return std::min(seconds, longest_idle).count();
}

std::string where(held_lock const& what) {
  return joined({" WHERE resource = ", literal(what.name.str()), " AND fencing = ",
                 std::to_string(what.fencing.value), " AND expires_at > ", now_sql});
}

}  // namespace

std::string idle_timeout_sql(milliseconds ttl) {
  return "SET SESSION wait_timeout = " + std::to_string(idle_timeout_s(ttl));
}

std::string new_idle_timeout_sql(connection const& session, milliseconds ttl) {
  return session.idle_timeout_s == idle_timeout_s(ttl) ? "" : idle_timeout_sql(ttl) + "; ";
}

void keep_idle_timeout(connection& session, milliseconds ttl) {
  session.idle_timeout_s = idle_timeout_s(ttl);
}

std::string record_sql(settings const& how, lock_request const& taken, std::string const& session,
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

std::string record_again_sql(settings const& how, lock_request const& taken,
                             std::string const& session, std::string const& condition) {
  return joined({"UPDATE `", how.table, "` SET fencing = ", next_token_sql(),
                 ", owner = ", literal(taken.owner.str()), ", acquired_at = ", now_sql,
                 ", session = ", session, ", expires_at = ", after_sql(taken.ttl),
                 " WHERE resource = ", literal(taken.name.str()), " AND ", condition});
}

std::string renew_sql(settings const& how, held_lock const& what, milliseconds ttl) {
  return "UPDATE `" + how.table + "` SET expires_at = " + after_sql(ttl) + where(what);
}

std::string clear_sql(settings const& how, held_lock const& what) {
  return joined({"UPDATE `", how.table, "` SET expires_at = ", never_sql, where(what)});
}

std::string open_row_sql(settings const& how, held_lock const& what) {
  auto const token = std::to_string(what.fencing.value);
  return joined({"INSERT INTO `", how.table, "_open`(resource, fencing) VALUES (",
                 literal(what.name.str()), ", ", token,
                 ") ON DUPLICATE KEY UPDATE fencing = ", token});
}

std::string close_row_sql(settings const& how, held_lock const& what) {
  return joined({"DELETE FROM `", how.table, "_open` WHERE resource = ", literal(what.name.str()),
                 " AND fencing = ", std::to_string(what.fencing.value)});
}

awaitable<void> end_session(connection& db, std::uint64_t session) {
  try {
    co_await db.ask("KILL CONNECTION " + std::to_string(session));
  } catch (sql_error const& error) {
    if (error.code != ER_NO_SUCH_THREAD) throw;
  }
}

awaitable<void> refuse_cluster(connection& db, char const* what) {
  auto const found = co_await db.ask(
      "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_provider', "
      "'group_replication_group_name', "
      "'group_replication_single_primary_mode')");
  auto const cluster = cluster_of(found.at(0).rows);
  if (cluster.empty()) co_return;
  throw sql_error{not_for_cluster,
                  "the server is a node of " + cluster + ", and " + what +
                      " would exclude the clients of this node only; use mode=table"};
}

}  // namespace herdlock::mysql
